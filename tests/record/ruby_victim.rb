# SPDX-License-Identifier: Apache-2.0
# A program with known stacks: threads wait in recursion, blocks, fibers, methods of several kinds,
# below methods of native code. Prints the stacks of its threads as JSON, leaf first, for each
# line of standard input, until its end.
require "json"

GATE = Queue.new

def recursion(depth)
  if depth == 0
    GATE.pop
    0
  else
    1 + recursion(depth - 1)
  end
end

def fiber
  Enumerator.new do |out|
    out << GATE.pop
  end.next
end

class Counter
  def initialize
    [3, 1].sort_by do |x|
      GATE.pop
      x
    end
  end

  def self.make
    new
  end

  define_method(:计算) do |x|
    { x => 1 }.each_pair.with_index do |pair, i|
      [pair, i].inject { |a, b| GATE.pop || a || b }
    end
  end

  def method_missing(_name)
    begin
      Integer("no number")
    rescue ArgumentError
      GATE.pop
    ensure
      1
    end
  end

  def respond_to_missing?(*) = true
end

# A long function: its lines are in the part of the index after the first instructions.
eval("def long(x)\n#{"x = x * 3 + 1\nx = [x, 7].min\n" * 200}GATE.pop\nend\n", binding, "/made/long.rb", 5)

THREADS = [
  -> { recursion(300) },
  -> { fiber },
  -> { Counter.make },
  -> { Counter.allocate.计算(1) },
  -> { Counter.allocate.unknown },
  -> { long(1) },
  -> { [1].each { |x| instance_eval { GATE.pop && x } } },
  -> { catch(:done) { GATE.pop } },
].map { |work| Thread.new(&work) }

# The frames of a thread: label, file, line, and whether it is a method of native code, which has
# the location of its caller.
def stack_of(thread)
  thread.backtrace_locations.map do |l|
    native = l.label !~ /block|rescue|ensure|<main>/ && l.label == l.base_label &&
             RUBY_METHODS.none?(l.label)
    [l.label, l.absolute_path || l.path, l.lineno, native]
  end
end

RUBY_METHODS = %w[recursion fiber initialize make 计算 method_missing long].freeze

while $stdin.gets
  puts JSON.generate({ waits: THREADS.all? { |t| t.status == "sleep" },
                       stacks: THREADS.map { |t| [t.native_thread_id, stack_of(t)] } })
  $stdout.flush
end
