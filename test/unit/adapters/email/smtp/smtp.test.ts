// The SMTP listener over raw sockets: what it takes, what it refuses, and when it says 250.
import { expect, test } from 'vitest'
import type { ReceiveResult } from '../../../../../src/contract/index.ts'
import { opening, smtpScene, stored, words } from './smtp-setup.ts'

test('hands in the bytes as they came, with the envelope and whoever handed them over', async () => {
  await using scene = await smtpScene()
  const client = await scene.connect()
  const recipients = ['RCPT TO:<helper@agents.example>', 'RCPT TO:<second@agents.example>']
  await client.all('EHLO client.example', 'MAIL FROM:<ada@example.org>', ...recipients, 'DATA')
  const raw = `${words}..a line with a dot\r\n\xff\x00 bytes\r\n`
  client.write(Buffer.from(`${words}...a line with a dot\r\n\xff\x00 bytes\r\n.\r\n`, 'latin1'))
  expect(await client.reply()).toBe('250 2.6.0 stored')
  const [mail] = scene.mails
  expect(Buffer.from(mail?.raw ?? []).toString('latin1')).toBe(raw)
  expect(mail).toMatchObject({
    way: 'smtp',
    envelope: {
      mailFrom: 'ada@example.org',
      rcptTo: ['helper@agents.example', 'second@agents.example'],
      clientIp: '127.0.0.1',
      helo: 'client.example',
    },
  })
  expect(scene.arrivals.map(({ from }) => from)).toEqual(['guest'])
  client.close()
})

test('the SMTP listener says 250 only after the mail was accepted', async () => {
  const commit = Promise.withResolvers<ReceiveResult>()
  await using scene = await smtpScene({ answer: () => commit.promise })
  const client = await scene.connect()
  await client.all(...opening)
  client.write(`${words}.\r\n`)
  const reply = client.reply()
  const early = await Promise.race([reply, new Promise((resolve) => setTimeout(() => resolve('silence'), 150))])
  expect(early).toBe('silence')
  commit.resolve(stored)
  expect(await reply).toBe('250 2.6.0 stored')
  client.close()
})

const refusedForGood = (reason: string): ReceiveResult => ({
  kind: 'rejected_event',
  reason,
  remedy: 'send something else',
  acceptances: [],
})

test.each<[string, () => Promise<ReceiveResult>, string]>([
  ['what cannot be judged now', async () => ({ kind: 'later', reason: 'dns' }), '451 4.3.0'],
  ['a fault of ours', () => Promise.reject(new Error('database password is hunter2')), '451 4.3.0'],
  ['a store that never answers', () => new Promise(() => {}), '451 4.3.0'],
  ['a spoofed author', async () => refusedForGood('spoofed'), '550 5.7.26'],
  ['too large by another measure', async () => refusedForGood('mail_too_large'), '552 5.3.4'],
  ['whatever else is refused for good', async () => refusedForGood('too_many_parts'), '550 5.7.1'],
  [
    'what nobody can read',
    async () => ({ kind: 'unreadable', reason: 'normalize_failed', acceptances: [] }),
    '550 5.6.0',
  ],
])('the SMTP listener answers %s, and the connection lives on', async (_what, answer, code) => {
  await using scene = await smtpScene({ answer, limits: { answerMs: 1500 } })
  const client = await scene.connect()
  await client.all(...opening)
  client.write(`${words}.\r\n`)
  const reply = await client.reply()
  expect(reply).toMatch(new RegExp(`^${code.replaceAll('.', '\\.')} [a-z ;]+$`))
  expect(await client.say('MAIL FROM:<ada@example.org>')).toMatch(/^250/)
  client.close()
})

test('the SMTP listener takes no mail that was cut before its end', async () => {
  await using scene = await smtpScene()
  const client = await scene.connect()
  await client.all(...opening)
  client.write(words)
  client.socket().end()
  expect(await client.reply()).toBe('')
  expect(scene.mails).toEqual([])
})

test('the SMTP listener takes the null sender for known recipients, and bounces for their address', async () => {
  await using scene = await smtpScene()
  const client = await scene.connect()
  const said = await client.all('HELO mx.example', 'MAIL FROM:<>', 'RCPT TO:<bounce+abc@agents.example>', 'DATA')
  expect(said.at(-1)).toMatch(/^354/)
  client.write(`${words}.\r\n`)
  expect(await client.reply()).toMatch(/^250/)
  expect(scene.mails[0]?.envelope).toMatchObject({ mailFrom: '', rcptTo: ['bounce+abc@agents.example'] })
  client.close()
})

test('the SMTP listener passes nothing on, and takes no address beyond ASCII', async () => {
  await using scene = await smtpScene()
  const client = await scene.connect()
  await client.all('EHLO client.example', 'MAIL FROM:<ada@example.org>')
  expect(await client.say('RCPT TO:<victim@elsewhere.example>')).toMatch(/^550 5\.7\.1/)
  expect(await client.say('RCPT TO:<h\xe9lper@agents.example>')).toMatch(/^5(?:53 5\.6\.7|01)/)
  expect(await client.say('DATA')).toMatch(/^503/)
  client.close()
})

test('wants a greeting before a mail', async () => {
  await using scene = await smtpScene()
  const client = await scene.connect()
  expect(await client.say('MAIL FROM:<ada@example.org>')).toMatch(/^503/)
  client.close()
})

test('hangs up on whoever guesses addresses', async () => {
  await using scene = await smtpScene({ limits: { refusedRecipients: 3 } })
  const client = await scene.connect()
  await client.all('EHLO client.example', 'MAIL FROM:<ada@example.org>')
  const guesses = ['a', 'b', 'c', 'd'].map((name) => `RCPT TO:<${name}@agents.example>`)
  const heard = await client.all(...guesses)
  expect(heard.map((reply) => reply.slice(0, 9))).toEqual(['550 5.1.1', '550 5.1.1', '550 5.1.1', '421 4.7.0'])
  expect(await client.reply()).toBe('')
})

test('the SMTP listener holds no more bytes than there is room for, over all connections', async () => {
  const commits: (() => void)[] = []
  const answer = () => new Promise<ReceiveResult>((resolve) => commits.push(() => resolve(stored)))
  await using scene = await smtpScene({ answer, limits: { heldBytes: 100_000 } })
  const [first, second] = [await scene.connect(), await scene.connect()]
  for (const client of [first, second]) await client.all(...opening)
  first.write(`${words}${'x'.repeat(60_000)}\r\n.\r\n`)
  await expect.poll(() => commits.length).toBe(1)
  second.write(`${words}${'x'.repeat(60_000)}\r\n.\r\n`)
  expect(await second.reply()).toMatch(/^451 4\.3\.1/)
  commits[0]?.()
  expect(await first.reply()).toMatch(/^250/)
  // The room is free again.
  await second.all(...opening.slice(1))
  second.write(`${words}${'x'.repeat(60_000)}\r\n.\r\n`)
  await expect.poll(() => commits.length).toBe(2)
  commits[1]?.()
  expect(await second.reply()).toMatch(/^250/)
  for (const client of [first, second]) client.close()
})

test('the SMTP listener lets a mail end when it stops, and takes no other', async () => {
  const commit = Promise.withResolvers<ReceiveResult>()
  const scene = await smtpScene({ answer: () => commit.promise })
  const [busy, idle] = [await scene.connect(), await scene.connect()]
  await busy.all(...opening)
  busy.write(`${words}.\r\n`)
  await expect.poll(() => scene.mails.length).toBe(1)
  const stopped = scene.stop()
  expect(await idle.reply()).toMatch(/^421 4\.3\.2/)
  commit.resolve(stored)
  expect(await busy.reply()).toMatch(/^250/)
  expect(await busy.reply()).toMatch(/^421 4\.3\.2/)
  await stopped
  await expect(scene.connect().then((client) => client.say('NOOP'))).resolves.toBe('')
})

test('fails with the code of the system where its port is taken', async () => {
  await using scene = await smtpScene()
  const { createSmtpListener: listenSmtp } = await import('../../../../../adapters/email/smtp/listen.ts')
  const { createReceivedMailRegistry: createOwnArrivals } = await import(
    '../../../../../adapters/email/ingress/received.ts'
  )
  const settings = { host: '127.0.0.1', port: scene.port, name: 'mx.agents.example' }
  const deps = { own: createOwnArrivals(), recipientOf: () => 'unknown' as const, maxBytes: 1000, now: Date.now }
  const listening = listenSmtp(settings, deps)({ receive: async () => stored }, new AbortController().signal)
  await expect(listening).rejects.toMatchObject({ code: 'EADDRINUSE' })
})

test('hangs up on a mail that comes in very many pieces, since each costs more than its bytes', async () => {
  await using scene = await smtpScene()
  const client = await scene.connect()
  await client.all(...opening)
  client.write(`${words}${'..\r\n'.repeat(150_000)}.\r\n`)
  expect(await client.reply()).toBe('554 5.6.0 too many lines of the mail begin with a dot')
  expect(scene.mails).toEqual([])
  client.close()
})

test('the SMTP listener takes a mail with thousands of lines that begin with a dot', async () => {
  await using scene = await smtpScene()
  const client = await scene.connect()
  await client.all(...opening)
  client.write(`${words}${'..\r\n'.repeat(5000)}.\r\n`)
  expect(await client.reply()).toBe('250 2.6.0 stored')
  client.close()
})
