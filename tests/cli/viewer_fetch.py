# SPDX-License-Identifier: Apache-2.0
"""Prints the status of a request to an address: viewer_fetch.py ADDRESS."""

import http.client
import sys
import urllib.parse

url = urllib.parse.urlparse(sys.argv[1])
client = http.client.HTTPConnection(url.netloc, timeout=30)
client.request("GET", url.path)
print(client.getresponse().status)
