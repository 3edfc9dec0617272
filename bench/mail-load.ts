// The load of mail: connections that stay, one mail at a time on each, latencies from MAIL to the answer that it is taken.
import { connect, type Socket } from 'node:net'
import type { Load, LoadResult } from './load.ts'

const answerTimeoutMs = 20_000
const data = Buffer.from('\r\nDATA\r\n')

/** As `runLoad`; rejects at the first mail that is not taken. */
export async function runMailLoad({ port, requests, connections, seconds }: Omit<Load, 'says'>): Promise<LoadResult> {
  const lines = await Promise.all(Array.from({ length: connections }, () => open(port)))
  const started = performance.now()
  const deadline = started + seconds * 1000
  const latenciesMs: number[] = []
  let next = 0
  const take = (): Buffer | undefined => {
    if (performance.now() >= deadline) return undefined
    next += 1
    return requests[next - 1]
  }
  try {
    await Promise.all(lines.map((line) => converse(line, take, latenciesMs)))
    return { answered: latenciesMs.length, seconds: (performance.now() - started) / 1000, latenciesMs }
  } finally {
    for (const { socket } of lines) socket.destroy()
  }
}

type Line = { readonly socket: Socket; readonly replies: (expected: readonly number[]) => Promise<void> }

async function open(port: number): Promise<Line> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const line = { socket, replies: repliesOf(socket) }
  await line.replies([220])
  socket.write('EHLO out.people.example\r\n')
  await line.replies([250])
  return line
}

async function converse(
  { socket, replies }: Line,
  take: () => Buffer | undefined,
  latenciesMs: number[],
): Promise<void> {
  for (let mail = take(); mail !== undefined; mail = take()) {
    const sentAt = performance.now()
    const end = mail.indexOf(data) + data.length
    socket.write(mail.subarray(0, end))
    await replies([250, 250, 354])
    socket.write(mail.subarray(end))
    await replies([250])
    latenciesMs.push(performance.now() - sentAt)
  }
}

/** Waits for so many replies; a reply of several lines is one. */
function repliesOf(socket: Socket): Line['replies'] {
  let text = ''
  let wanted: readonly number[] = []
  let waiting: PromiseWithResolvers<void> | undefined
  const look = (): void => {
    for (let end = text.indexOf('\r\n'); end !== -1 && wanted.length > 0; end = text.indexOf('\r\n')) {
      const line = text.slice(0, end)
      text = text.slice(end + 2)
      if (line[3] === '-') continue
      if (!line.startsWith(`${wanted[0]} `)) waiting?.reject(new Error(`not accepted: ${line}`))
      wanted = wanted.slice(1)
    }
    if (wanted.length === 0) waiting?.resolve()
  }
  const fail = (why: string) => () => waiting?.reject(new Error(why))
  socket.setTimeout(answerTimeoutMs, fail(`no answer within ${answerTimeoutMs} ms`))
  socket.on('error', fail('the subject broke the connection'))
  socket.on('close', fail('the subject closed the connection'))
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    look()
  })
  return (expected) => {
    waiting = Promise.withResolvers()
    wanted = expected
    look()
    return waiting.promise
  }
}
