// One SMTP listener for the rivals: a mail is collected, proven by what it is given, parsed, and answered.
import { simpleParser } from 'mailparser'
import { SMTPServer } from 'smtp-server'

export async function listenForMail(zone, isProven) {
  let handled = 0
  const resolver = async (name, type) => {
    const record = type === 'TXT' ? zone[name.toLowerCase()] : undefined
    if (record !== undefined) return [[record]]
    throw Object.assign(new Error(`ENOTFOUND ${name}`), { code: 'ENOTFOUND' })
  }
  const take = async (raw, { remoteAddress, hostNameAppearsAs, envelope }) => {
    const facts = { resolver, ip: remoteAddress, helo: hostNameAppearsAs, sender: envelope.mailFrom.address }
    if (!(await isProven(raw, facts))) throw Object.assign(new Error('not proven'), { responseCode: 550 })
    const mail = await simpleParser(raw)
    if (mail.messageId === undefined || mail.text === undefined) throw new Error('not parsed')
    handled += 1
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    onData(stream, session, callback) {
      const chunks = []
      stream.on('data', (chunk) => chunks.push(chunk))
      stream.on('end', () => {
        take(Buffer.concat(chunks), session).then(() => callback(null, 'taken'), callback)
      })
    },
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = () => new Promise((resolve) => server.close(() => resolve()))
  return { port: server.server.address().port, stop, handled: () => handled }
}
