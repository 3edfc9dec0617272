// How a mail connection stands: its mailbox and its relay are asked over real connections, and no mail is sent.
import { createServer, type Server, type Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterEach, describe, expect, test } from 'vitest'
import { emailChannel } from '../../../../../adapters/email/index.ts'
import type { ChannelDeps, ProbeResult } from '../../../../../src/contract/index.ts'
import { createWebHmac } from '../../../../../src/lib/index.ts'
import { startHangUp } from '../../../../doubles/smtp-sink.ts'

const password = 'word-of-the-tests'
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function ask(settings: Record<string, unknown>, signal = AbortSignal.timeout(5_000)): Promise<ProbeResult> {
  const deps: ChannelDeps = {
    connection: { tenant: 'default', id: 'default', agent: 'demo', domain: 'parley.localhost' },
    fetch,
    now: Date.now,
    hmac: createWebHmac(),
  }
  const result = await emailChannel.create({ domain: 'agents.example.org', ...settings }, deps).probe?.({ signal })
  expect(JSON.stringify(result)).not.toContain(password)
  return result ?? expect.unreachable('mail has no probe')
}

/** A relay with one account. */
async function startRelay(): Promise<{ readonly urlFor: (word: string) => string; readonly mails: () => number }> {
  let mails = 0
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    logger: false,
    closeTimeout: 50,
    onAuth(auth, _session, done) {
      if (auth.password === password) return done(null, { user: 'parley' })
      return done(Object.assign(new Error('5.7.8 no such account here'), { responseCode: 535 }))
    },
    onMailFrom(_address, _session, done) {
      mails += 1
      done()
    },
  })
  server.on('error', () => undefined)
  const listening = await new Promise<Server>((resolve) => {
    const at = server.listen(0, '127.0.0.1', () => resolve(at as Server))
  })
  closing.push(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { urlFor: (word) => `smtp://parley:${word}@127.0.0.1:${portOf(listening)}`, mails: () => mails }
}

/** A mail server that lets one account in, and has one mailbox. `silent`: it takes connections and says nothing. */
async function startMailbox(silent = false): Promise<(word: string, mailbox?: string) => Record<string, unknown>> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    if (silent) return
    socket.write('* OK [CAPABILITY IMAP4rev1] here\r\n')
    socket.on('data', (chunk) => {
      for (const line of chunk.toString('latin1').split('\r\n')) {
        const [tag = '', command = ''] = line.split(' ')
        if (tag !== '') socket.write(answerTo(tag, command.toUpperCase(), line))
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  })
  return (word, mailbox = 'INBOX') => ({
    imap: { url: `imap://reader:${word}@127.0.0.1:${portOf(server)}/${mailbox}`, allowPlain: true },
  })
}

function answerTo(tag: string, command: string, line: string): string {
  switch (command) {
    case 'CAPABILITY':
      return `* CAPABILITY IMAP4rev1\r\n${tag} OK\r\n`
    case 'LOGIN':
      return line.includes(password) ? `${tag} OK in\r\n` : `${tag} NO [AUTHENTICATIONFAILED] not you\r\n`
    case 'LIST':
      return `${line.includes('Agents') ? '' : `* LIST () "/" ${line.endsWith('""') ? '""' : 'INBOX'}\r\n`}${tag} OK\r\n`
    case 'SELECT':
      return line.includes('INBOX')
        ? `* FLAGS ()\r\n* 0 EXISTS\r\n* OK [UIDVALIDITY 7] v\r\n* OK [UIDNEXT 1] n\r\n${tag} OK [READ-WRITE] open\r\n`
        : `${tag} NO no such mailbox\r\n`
    default:
      return `${tag} OK\r\n`
  }
}

function portOf(server: Server): number {
  const at = server.address()
  return typeof at === 'object' && at !== null ? at.port : 0
}

/** A port that is closed. */
async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const port = portOf(server)
  await new Promise<void>((resolve) => server.close(() => resolve()))
  return port
}

test('a domain with a listener, a mailbox and a relay is told in one line, and no mail is sent', async () => {
  const relay = await startRelay()
  const imap = (await startMailbox())(password)
  const result = await ask({ smtp: { port: 2599 }, ...imap, smtpUrl: relay.urlFor(password) })
  expect(result).toMatchObject({
    summary: 'agents.example.org, smtp :2599, imap reader@127.0.0.1, relay 127.0.0.1',
    problems: [],
  })
  expect(relay.mails()).toBe(0)
})

describe('a mailbox', () => {
  test('that refuses the login is told with the variable to correct', async () => {
    expect(await ask((await startMailbox())('another-word'))).toMatchObject({
      summary: 'agents.example.org, imap reader@127.0.0.1, no relay',
      problems: [
        {
          state: 'failed',
          reason: 'imap_login_refused',
          problem: 'the mailbox refused the login',
          remedy: 'check the name and the password in EMAIL_IMAP_URL',
        },
      ],
    })
  })

  test('that is not there on its server is told by its name', async () => {
    expect((await ask((await startMailbox())(password, 'Agents'))).problems).toMatchObject([
      { state: 'failed', reason: 'mailbox_missing', problem: 'there is no mailbox Agents' },
    ])
  })

  test.each([
    ['a port that is closed', async () => ({ url: `imaps://a:b@127.0.0.1:${await closedPort()}` }), 'ECONNREFUSED'],
    ['a server that says nothing', async () => Object.values((await startMailbox(true))(password))[0], 'no answer'],
  ])('behind %s is told as out of reach, with what the network says', async (_name, imapOf, said) => {
    const { problems } = await ask({ imap: await imapOf() }, AbortSignal.timeout(400))
    expect(problems).toMatchObject([
      { state: 'degraded', reason: 'imap_unreachable', remedy: expect.stringContaining('EMAIL_IMAP_URL') },
    ])
    expect(problems[0]?.problem).toBe(`the mail server 127.0.0.1 cannot be reached (${said})`)
  })
})

describe('a relay', () => {
  test('that refuses the account is told, and answers do not leave', async () => {
    const relay = await startRelay()
    expect((await ask({ smtpUrl: relay.urlFor('another-word') })).problems).toEqual([
      {
        state: 'failed',
        reason: 'relay_login_refused',
        problem: 'the relay refused the login (535)',
        remedy: 'check the name and the password in SMTP_URL',
      },
    ])
  })

  test('that cannot be reached, or hangs up, is told with what the network says', async () => {
    const hanging = await startHangUp('greeting')
    closing.push(hanging.close)
    for (const smtpUrl of [`smtp://127.0.0.1:${await closedPort()}`, hanging.url]) {
      expect((await ask({ smtpUrl })).problems).toMatchObject([
        { state: 'degraded', reason: 'relay_unreachable', remedy: expect.stringContaining('SMTP_URL') },
      ])
    }
  })
})

test('without a relay it says where answers go', async () => {
  expect(await ask({ smtp: { port: 2599 }, mailFolder: '.parley/mail' })).toMatchObject({
    summary: 'agents.example.org, smtp :2599, answers as files in .parley/mail',
    problems: [],
  })
})
