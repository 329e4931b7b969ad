/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the server of the page. */

const ASKED_MOST = 20; /* requests: a store that is written again is ready after seconds */
const WAIT_MOST = 5; /* s */

/* The wait before the next request, in ms: HTTP's Retry-After in seconds (RFC 9110, 10.2.3). */
function waitOf(reply: Response): number {
    const seconds = Number(reply.headers.get("Retry-After") ?? Number.NaN);
    return 1000 * (seconds >= 0 ? Math.min(seconds, WAIT_MOST) : 1);
}

/* The reply of the server, which may be a refusal. Status 503 means that the server cannot answer
 * yet: it is asked again. `waiting` is called before each wait. */
export async function fetchAgain(path: string, init: RequestInit, waiting?: () => void): Promise<Response> {
    for (let asked = 1;; asked++) {
        const reply = await fetch(path, init);
        if (reply.status !== 503 || asked === ASKED_MOST)
            return reply;
        waiting?.();
        await new Promise((done) => setTimeout(done, waitOf(reply)));
    }
}
