# Loads what scripts commonly do, makes use of each, says that it is ready, and ends with its input.
require 'set'
require 'json'
require 'yaml'
require 'erb'
require 'optparse'
require 'ostruct'
require 'time'

Order = Struct.new(:name, :amount)
orders = (1..200).map { |i| Order.new("order #{i}", i * 7919 % 997) }
sums = orders.group_by { |o| o.amount % 5 }.sort.map { |k, v| [k.to_s, v.map(&:amount).sum] }.to_h
again = JSON.parse(JSON.generate(sums))
raise 'JSON differs' unless again == sums
raise 'YAML differs' unless YAML.load(YAML.dump(sums)) == sums
page = ERB.new("<% sums.each do |k, v| %><%= k %>: <%= v %>\n<% end %>").result(binding)
options = OptionParser.new { |o| o.on('--top N', Integer) }
options.parse(%w[--top 3])
latest = OpenStruct.new(at: Time.parse('2020-02-29 12:00:00 UTC'), names: Set.new(orders.map(&:name)))
puts "ready #{page.lines.size} #{latest.names.size} #{latest.at.yday}"
$stdout.flush
$stdin.read
