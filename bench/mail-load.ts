// The load of mail: connections that stay, one mail at a time on each, latencies from MAIL to the answer that it is taken.
import { connect, type Socket } from 'node:net'
import { answerTimeoutMs, type Drive, drive, type LoadResult, type Talk } from './drive.ts'

const data = Buffer.from('\r\nDATA\r\n')

/** Rejects at the first mail that is not taken. */
export async function runMailLoad(load: Drive): Promise<LoadResult> {
  return drive(load, open, converse)
}

type Line = {
  readonly destroy: () => void
  readonly socket: Socket
  readonly replies: (expected: readonly number[]) => Promise<void>
}

async function open(port: number): Promise<Line> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const line = { socket, destroy: () => void socket.destroy(), replies: repliesOf(socket) }
  await line.replies([220])
  socket.write('EHLO out.people.example\r\n')
  await line.replies([250])
  return line
}

async function converse({ socket, replies }: Line, { take, latenciesMs }: Talk): Promise<void> {
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
