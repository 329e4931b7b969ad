# SPDX-License-Identifier: Apache-2.0
# A program with known shares, for ruby.py: functions spend 50, 30, 15 and 5 percent of their rounds
# below DEPTH recursive calls, until THREADS threads have used SECONDS of CPU time.
#   ruby_shares.rb SECONDS THREADS DEPTH
# All four do the same work: Ruby code, blocks, methods of native code, one of which calls Ruby again.

TEXT = (1..40).map { |i| "word#{i}" }.join(" ")

def cpu_time
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end

def work(rounds)
  rounds.times do
    x = 0
    80.times { |i| x = (x * 31 + i) & 0xffff }
    TEXT.gsub(/[0-9]+/) { |digits| digits.size.to_s }
    TEXT.split.sort_by { |word| -word.size }
  end
end

def takes_50 = work(10)

def takes_30 = work(6)

def takes_15 = work(3)

def takes_5 = work(1)

def rounds(stop)
  while cpu_time < stop
    takes_50
    takes_30
    takes_15
    takes_5
  end
end

def below(depth, stop)
  depth == 0 ? rounds(stop) : below(depth - 1, stop)
end

puts "ready"
$stdout.flush
seconds, threads, depth = ARGV.map(&:to_f)
stop = cpu_time + seconds
(threads - 1).to_i.times.map { Thread.new { below(depth.to_i, stop) } }.tap { below(depth.to_i, stop) }
             .each(&:join)
