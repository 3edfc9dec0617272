// Names below localhost lead to this machine, as RFC 6761 has it; not every resolver knows.
import dns from 'node:dns'

const ask = dns.lookup
dns.lookup = (name, options, done) => {
  if (!name.endsWith('.localhost')) return ask(name, options, done)
  const tell = typeof options === 'function' ? options : done
  const here = { address: '127.0.0.1', family: 4 }
  process.nextTick(() => (options.all ? tell(null, [here]) : tell(null, here.address, here.family)))
}
