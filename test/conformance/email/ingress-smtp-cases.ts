// Email ingress over raw SMTP sessions: what is taken, what is refused when, and what one client can do to the others.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'vitest'
import { secret } from '../../../src/lib/secret.ts'
import { testCertificate, testKey } from '../../doubles/test-certificate.ts'
import { opening, smtpScene, words } from '../../unit/adapters/email/smtp/smtp-setup.ts'
import type { Case } from '../conform.ts'

const tls = { key: secret(testKey), cert: testCertificate }
const firstDigits = (reply: string): string =>
  /(?:^|\n)(\d{3} ?(?:\d\.\d+\.\d+)?)[^\n]*$/.exec(reply)?.[1]?.trim() ?? ''

export const takingCases: readonly Case[] = [
  {
    id: 'EM-050',
    claim: 'a mail whose 250 was never heard is handed in again, byte for byte, to be recognised',
    async run() {
      await using scene = await smtpScene()
      const first = await scene.connect()
      await first.all(...opening)
      first.write(`${words}.\r\n`)
      await expect.poll(() => scene.mails.length).toBe(1)
      first.close()
      const second = await scene.connect()
      await second.all(...opening)
      second.write(`${words}.\r\n`)
      const reply = await second.reply()
      second.close()
      const [one, other] = scene.mails.map(({ raw }) => Buffer.from(raw).toString())
      return { reply: firstDigits(reply), isSame: one === other && one === words }
    },
    equals: { reply: '250 2.6.0', isSame: true },
  },
  {
    id: 'EM-051',
    claim: 'an unknown agent is refused at RCPT, a disabled one with a code of its own, and the others get their mail',
    async run() {
      await using scene = await smtpScene()
      const client = await scene.connect()
      await client.all('EHLO client.example', 'MAIL FROM:<ada@example.org>')
      const names = ['nobody', 'asleep', 'helper'].map((name) => `RCPT TO:<${name}@agents.example>`)
      const heard = await client.all(...names, 'DATA')
      client.write(`${words}.\r\n`)
      const last = await client.reply()
      client.close()
      return { heard: [...heard, last].map(firstDigits), rcptTo: scene.mails.map(({ envelope }) => envelope.rcptTo) }
    },
    equals: { heard: ['550 5.1.1', '550 5.2.1', '250', '354', '250 2.6.0'], rcptTo: [['helper@agents.example']] },
  },
  {
    id: 'EM-063',
    claim: 'two agents of one mail are two recipients of one hand-in, whatever the To header says',
    async run() {
      await using scene = await smtpScene()
      const client = await scene.connect()
      await client.all(...opening.slice(0, 3), 'RCPT TO:<second@agents.example>', 'DATA')
      client.write(`To: helper@agents.example\r\n${words}.\r\n`)
      await client.reply()
      client.close()
      const [mail] = scene.mails
      const isDisclosed = Buffer.from(mail?.raw ?? []).includes('second@')
      return { mails: scene.mails.length, rcptTo: mail?.envelope.rcptTo, isDisclosed }
    },
    equals: { mails: 1, rcptTo: ['helper@agents.example', 'second@agents.example'], isDisclosed: false },
  },
]

const megabyte = 1024 * 1024

/** Without what nobody refers to any more. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc')
  const collectGarbage: unknown = runInNewContext('gc')
  if (typeof collectGarbage === 'function') collectGarbage()
  return process.memoryUsage().arrayBuffers
}

export const sizeCases: readonly Case[] = [
  {
    id: 'EM-052',
    claim: 'a size that is declared too large is refused at MAIL',
    async run() {
      await using scene = await smtpScene({ maxBytes: 1000 })
      const client = await scene.connect()
      const heard = await client.all('EHLO client.example', 'MAIL FROM:<ada@example.org> SIZE=1001')
      client.close()
      return { size: /SIZE 1000/.test(heard[0] ?? ''), reply: heard[1]?.slice(0, 3) }
    },
    equals: { size: true, reply: '552' },
  },
  {
    id: 'EM-052',
    claim: 'one that is not declared is refused after DATA, and the memory stays flat',
    async run() {
      await using scene = await smtpScene({ maxBytes: 16 * megabyte })
      const client = await scene.connect()
      await client.all(...opening)
      const before = heldBytes()
      let most = 0
      const line = Buffer.alloc(64 * 1024, 'x')
      line.write('\r\n', line.length - 2)
      client.write(words)
      for (let count = 0; count < (56 * megabyte) / line.length; count += 1) {
        await new Promise((resolve) => client.socket().write(line, resolve))
        if (count % 64 === 0) most = Math.max(most, heldBytes() - before)
      }
      client.write('.\r\n')
      const reply = await client.reply()
      const next = await client.say('NOOP')
      client.close()
      // While it grows, the old buffer and the new one are there at once.
      return {
        reply: firstDigits(reply),
        next: next.slice(0, 3),
        isFlat: most < 40 * megabyte,
        mails: scene.mails.length,
      }
    },
    equals: { reply: '552 5.3.4', next: '250', isFlat: true, mails: 0 },
  },
  {
    id: 'EM-052',
    claim: 'one that does not end is hung up on',
    async run() {
      await using scene = await smtpScene({ maxBytes: 100_000 })
      const client = await scene.connect()
      await client.all(...opening)
      client.socket().on('error', () => {})
      const endless = Buffer.alloc(64 * 1024, 'x\r\n')
      for (let sent = 0; sent < 2 * megabyte && !client.socket().destroyed; sent += endless.length) {
        client.write(endless)
        await new Promise((resolve) => setImmediate(resolve))
      }
      const reply = await client.reply()
      return { reply: firstDigits(reply), mails: scene.mails.length }
    },
    equals: { reply: '552 5.3.4', mails: 0 },
  },
]

const smuggled = 'MAIL FROM:<evil@example.org>\r\nRCPT TO:<helper@agents.example>\r\nDATA\r\nFrom: evil\r\n\r\nevil'
const endings = ['\n.\n', '\r\n.\n', '\n.\r\n', '\r.\r', '\r.\r\n', '\r\n.\r', '\r\n.\0\r\n', '\0.\r\n', '\n\n.\r\r\n']

export const smugglingCases: readonly Case[] = endings.map((ending) => ({
  id: 'EM-053',
  claim: `${JSON.stringify(ending)} does not end a mail`,
  async run() {
    await using scene = await smtpScene()
    const client = await scene.connect()
    await client.all(...opening)
    client.write(Buffer.from(`${words}${ending}${smuggled}\r\n.\r\n`, 'latin1'))
    const reply = await client.reply()
    const next = await client.say('NOOP')
    client.close()
    const [mail] = scene.mails
    const froms = scene.mails.map(({ envelope }) => envelope.mailFrom)
    return {
      replies: [firstDigits(reply), next.slice(0, 3)],
      froms,
      isWhole: Buffer.from(mail?.raw ?? []).toString('latin1') === `${words}${ending}${smuggled}\r\n`,
    }
  },
  equals: { replies: ['250 2.6.0', '250'], froms: ['ada@example.org'], isWhole: true },
}))

async function sendOne(scene: Awaited<ReturnType<typeof smtpScene>>, from?: string): Promise<string> {
  const client = await scene.connect(from)
  await client.all(...opening)
  client.write(`${words}.\r\n`)
  const reply = await client.reply()
  client.close()
  return firstDigits(reply)
}

export const floodCases: readonly Case[] = [
  {
    id: 'EM-054',
    claim: 'of 10,000 recipients fifty are taken, then the line is hung up; others get through meanwhile',
    async run() {
      await using scene = await smtpScene()
      const client = await scene.connect()
      await client.all('EHLO client.example', 'MAIL FROM:<ada@example.org>')
      client.socket().on('error', () => {})
      const recipients = Array.from({ length: 10_000 }, (_, at) => `RCPT TO:<helper${at}@agents.example>\r\n`)
      client.write(recipients.join(''))
      const other = await sendOne(scene, '127.0.0.2')
      const heard: string[] = []
      for (let reply = await client.reply(); reply !== ''; reply = await client.reply()) heard.push(firstDigits(reply))
      const counted = ['250', '452 4.5.3', '421 4.7.0'].map((code) => heard.filter((each) => each === code).length)
      return { other, counted, last: heard.at(-1) }
    },
    equals: { other: '250 2.6.0', counted: [50, 20, 1], last: '421 4.7.0' },
  },
  {
    id: 'EM-054',
    claim: 'beyond fifty recipients each is put off, and the mail goes to the fifty',
    async run() {
      await using scene = await smtpScene({ limits: { recipients: 1, refusedRecipients: 20 } })
      const client = await scene.connect()
      const heard = await client.all(...opening.slice(0, 3), 'RCPT TO:<second@agents.example>', 'DATA')
      client.write(`${words}.\r\n`)
      const reply = await client.reply()
      client.close()
      return [...heard.slice(3), reply].map(firstDigits)
    },
    equals: ['452 4.5.3', '354', '250 2.6.0'],
  },
  {
    id: 'EM-054',
    claim: 'of 100 connections from one address some are turned away, and another address is served',
    async run() {
      await using scene = await smtpScene({ limits: { clientsPerAddress: 5 } })
      const { smtpClient } = await import('../../unit/adapters/email/smtp/smtp-client.ts')
      const clients = await Promise.all(Array.from({ length: 100 }, () => smtpClient(scene.port)))
      const greetings = await Promise.all(clients.map((client) => client.reply()))
      const other = await sendOne(scene, '127.0.0.2')
      for (const client of clients) client.close()
      const served = greetings.filter((each) => each.startsWith('220')).length
      const refused = greetings.filter((each) => each.startsWith('421 4.7.0')).length
      // Room again once they are gone.
      await expect.poll(() => sendOne(scene).catch(() => '')).toBe('250 2.6.0')
      return { other, served, refused }
    },
    equals: { other: '250 2.6.0', served: 5, refused: 95 },
  },
  {
    id: 'EM-054',
    claim: 'a mail that drips is cut off however steadily it drips, and others are served meanwhile',
    async run() {
      await using scene = await smtpScene({ limits: { dataMs: 2000 } })
      const slow = await scene.connect()
      await slow.all(...opening)
      const drip = setInterval(() => slow.write('x'), 20)
      const other = await sendOne(scene)
      const reply = await slow.reply()
      clearInterval(drip)
      slow.close()
      return { other, reply: firstDigits(reply), mails: scene.mails.length }
    },
    equals: { other: '250 2.6.0', reply: '421 4.4.2', mails: 1 },
  },
  {
    id: 'EM-054',
    claim: 'whoever is silent, or stays too long, is hung up on',
    async run() {
      await using quick = await smtpScene({ limits: { idleMs: 300 } })
      const silent = await quick.connect()
      const first = await silent.reply()
      await using short = await smtpScene({ limits: { sessionMs: 300 } })
      const staying = await short.connect()
      const chat = setInterval(() => staying.write('NOOP\r\n'), 50)
      let last = ''
      for (let reply = await staying.reply(); reply !== ''; reply = await staying.reply()) last = reply
      clearInterval(chat)
      return [first.slice(0, 3), firstDigits(last)]
    },
    equals: ['421', '421 4.4.2'],
  },
  {
    id: 'EM-054',
    claim: 'more mails in a minute than one address may send are put off, and another address is served',
    async run() {
      await using scene = await smtpScene({ limits: { mailsPerMinute: 2 } })
      const client = await scene.connect()
      await client.say('EHLO client.example')
      const heard: string[] = []
      for (let count = 0; count < 3; count += 1) {
        heard.push(firstDigits(await client.say('MAIL FROM:<ada@example.org>')))
        await client.say('RSET')
      }
      client.close()
      return { heard, other: await sendOne(scene, '127.0.0.2') }
    },
    equals: { heard: ['250', '250', '450 4.7.1'], other: '250 2.6.0' },
  },
]

export const lineCases: readonly Case[] = [
  {
    id: 'EM-055',
    claim: 'AUTH is not offered and not taken, before TLS or after it',
    async run() {
      await using scene = await smtpScene({ tls })
      const client = await scene.connect()
      client.write('EHLO client.example\r\nAUTH PLAIN AGFkYQBodW50ZXIy\r\n')
      const [greeting, before] = [await client.reply(), await client.reply()]
      await client.say('STARTTLS')
      await client.upgrade()
      const secured = await client.say('EHLO client.example')
      const after = await client.say('AUTH PLAIN AGFkYQBodW50ZXIy')
      client.close()
      const offered = [greeting, secured].map((each) => [/STARTTLS/.test(each), /AUTH/.test(each)])
      return { offered, refused: [before, after].map((each) => each.slice(0, 3)) }
    },
    equals: {
      offered: [
        [true, false],
        [false, false],
      ],
      refused: ['500', '500'],
    },
  },
  {
    id: 'EM-055',
    claim: 'what is said with STARTTLS in one breath is not heard after it',
    async run() {
      await using scene = await smtpScene({ tls })
      const client = await scene.connect()
      await client.say('EHLO client.example')
      client.write('STARTTLS\r\nEHLO evil.example\r\nMAIL FROM:<evil@example.org>\r\n')
      const go = await client.reply()
      await client.upgrade()
      const heard = await client.all('RCPT TO:<helper@agents.example>', ...opening)
      client.write(`${words}.\r\n`)
      const reply = await client.reply()
      client.close()
      const froms = scene.mails.map(({ envelope }) => [envelope.mailFrom, envelope.helo])
      return { go: go.slice(0, 3), first: heard[0]?.slice(0, 3), reply: firstDigits(reply), froms }
    },
    equals: { go: '220', first: '503', reply: '250 2.6.0', froms: [['ada@example.org', 'client.example']] },
  },
  {
    id: 'EM-055',
    claim: 'without a certificate STARTTLS is neither offered nor taken',
    async run() {
      await using scene = await smtpScene()
      const client = await scene.connect()
      const heard = await client.all('EHLO client.example', 'STARTTLS')
      client.close()
      return { isOffered: /STARTTLS/.test(heard[0] ?? ''), reply: heard[1]?.slice(0, 3) }
    },
    equals: { isOffered: false, reply: '500' },
  },
]
