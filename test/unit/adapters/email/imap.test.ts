// The IMAP source beside a server that fails to tell: mail it does not announce, commands it puts off, logins it is too busy for.
import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createImapPoller, type ImapSettings } from '../../../../adapters/email/imap.ts'
import { createReceivedMailRegistry } from '../../../../adapters/email/ingress/received.ts'
import { secret } from '../../../../src/lib/secret.ts'

const mail = 'Received: from mx.example\r\nFrom: ada@example.org\r\nMessage-ID: <1@example.org>\r\n\r\nhello\r\n'
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

type Told = { readonly tag: string; readonly command: string; readonly line: string; readonly socket: Socket }
/** What the server says instead of what it usually says. */
type Manner = (told: Told) => string | undefined

type Box = {
  readonly port: number
  /** A mail is there from now on; a client that waits is not told. */
  readonly deliver: () => void
  /** When it was asked what is new. */
  readonly asked: readonly number[]
  readonly said: readonly string[]
  manner: Manner
}

async function startBox(): Promise<Box> {
  const sockets = new Set<Socket>()
  const [asked, said]: [number[], string[]] = [[], []]
  let mails = 0
  const deliver = (): void => {
    mails += 1
  }
  const box = { asked, said, deliver, manner: (() => undefined) as Manner }
  const server = createServer((socket) => {
    sockets.add(socket)
    let idle = ''
    socket.on('error', () => undefined)
    socket.write('* OK [CAPABILITY IMAP4rev1 IDLE] here\r\n')
    socket.on('data', (chunk) => {
      for (const line of chunk.toString('latin1').split('\r\n').filter(Boolean)) {
        said.push(line)
        if (line === 'DONE') {
          socket.write(`${idle} OK\r\n`)
          continue
        }
        const [tag = '', command = '', more = ''] = line.split(' ')
        const told = { tag, command: command === 'UID' ? `UID ${more}` : command, line, socket }
        if (told.command === 'IDLE') idle = tag
        if (told.command === 'UID SEARCH') asked.push(Date.now())
        socket.write(box.manner(told) ?? answerTo(told, mails))
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  })
  return Object.assign(box, { port: portOf(server) })
}

function answerTo({ tag, command, line }: Told, mails: number): string {
  const [size, uid] = [mail.length, /UID FETCH (\d+)/.exec(line)?.[1]]
  switch (command) {
    case 'IDLE':
      return '+ idling\r\n'
    case 'LIST':
    case 'LSUB':
      return `* ${command} () "/" INBOX\r\n${tag} OK\r\n`
    case 'SELECT':
      return `* ${mails} EXISTS\r\n* OK [UIDVALIDITY 7]\r\n* OK [UIDNEXT ${mails + 1}]\r\n${tag} OK [READ-WRITE]\r\n`
    case 'UID SEARCH':
      return `* SEARCH${mails === 0 ? '' : ' 1'}\r\n${tag} OK\r\n`
    case 'UID FETCH':
      return line.includes('BODY')
        ? `* 1 FETCH (UID ${uid} BODY[]<0> {${size}}\r\n${mail})\r\n${tag} OK\r\n`
        : `* 1 FETCH (UID ${uid} RFC822.SIZE ${size} INTERNALDATE "18-Nov-2026 12:00:00 +0000")\r\n${tag} OK\r\n`
    default:
      return `${tag} OK\r\n`
  }
}

function portOf(server: Server): number {
  const at = server.address()
  return typeof at === 'object' && at !== null ? at.port : 0
}

function read(
  { port }: Box,
  changes: Partial<ImapSettings> = {},
): { readonly taken: () => number; readonly error: () => unknown } {
  const settings: ImapSettings = {
    host: '127.0.0.1',
    port,
    secure: false,
    allowPlain: true,
    user: 'desk',
    password: secret('hunter2'),
    address: 'desk@agents.example',
    startAt: 'all',
    firstPauseMs: 20,
    ...changes,
  }
  const deps = {
    own: createReceivedMailRegistry(),
    recipientOf: () => 'agent' as const,
    maxBytes: 10_000,
    now: Date.now,
  }
  const stopping = new AbortController()
  let [taken, failure]: [number, unknown] = [0, undefined]
  const pull = async (): Promise<void> => {
    for await (const { requests, acknowledge } of createImapPoller(settings, deps)(undefined, stopping.signal)) {
      taken += requests.length
      await acknowledge?.([])
    }
  }
  const over = pull().catch((error: unknown) => (failure = error))
  closing.unshift(() => {
    stopping.abort()
    return over
  })
  return { taken: () => taken, error: () => failure }
}

const soon = { timeout: 15_000, interval: 20 }

test('a mail that the server does not announce when the waiting begins is found seconds later', async () => {
  const box = await startBox()
  const reading = read(box)
  await expect.poll(() => box.said.some((line) => line.endsWith(' IDLE')), soon).toBe(true)
  box.deliver()
  await expect.poll(reading.taken, soon).toBe(1)
})

test('where nothing comes it asks less and less often', async () => {
  const box = await startBox()
  read(box, { firstWaitMs: 30 })
  await expect.poll(() => box.asked.length, soon).toBeGreaterThanOrEqual(5)
  const waits = box.asked.slice(1).map((at, index) => at - (box.asked[index] ?? 0))
  // A timer may be early by a millisecond.
  for (const [index, least] of [30, 60, 120, 240].entries()) expect(waits[index]).toBeGreaterThanOrEqual(least - 2)
})

test('it never waits longer than it was told to', async () => {
  const box = await startBox()
  read(box, { firstWaitMs: 60_000, pollMs: 50 })
  await expect.poll(() => box.asked.length, soon).toBeGreaterThan(3)
})

test('a search that the server puts off is not an empty mailbox', async () => {
  const box = await startBox()
  let refusals = 0
  box.manner = ({ tag, command }) => {
    if (command !== 'UID SEARCH' || refusals === 2) return undefined
    refusals += 1
    return `${tag} NO [INUSE] not now\r\n`
  }
  box.deliver()
  const reading = read(box, { firstWaitMs: 60_000, pollMs: 60_000 })
  await expect.poll(reading.taken, soon).toBe(1)
})

test.each([
  ['is too busy', ({ tag, command }: Told) => (command === 'LOGIN' ? `${tag} NO [UNAVAILABLE] later\r\n` : undefined)],
  [
    'hangs up',
    ({ command, socket }: Told) => {
      if (command !== 'LOGIN') return undefined
      socket.destroy()
      return ''
    },
  ],
] as const)('a login at which the server %s is tried again, and the password is not blamed', async (_how, manner) => {
  const box = await startBox()
  let logins = 0
  box.manner = (told) => {
    if (told.command === 'LOGIN') logins += 1
    return logins > 2 ? undefined : manner(told)
  }
  box.deliver()
  const reading = read(box)
  await expect.poll(() => reading.taken() === 1 || reading.error() !== undefined, soon).toBe(true)
  expect(reading.error()).toBeUndefined()
  expect(logins).toBe(3)
})

test('a login that the server refuses is an error of the settings', async () => {
  const box = await startBox()
  box.manner = ({ tag, command }) => (command === 'LOGIN' ? `${tag} NO [AUTHENTICATIONFAILED] not you\r\n` : undefined)
  const reading = read(box)
  await expect.poll(reading.error, soon).toMatchObject({ code: 'config_invalid' })
})
