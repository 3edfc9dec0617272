// The load: keep-alive connections to one port on this machine, one request at a time on each, latencies kept.
// Raw sockets, so that the driver costs little beside the subject it shares the machine with.
import { connect, type Socket } from 'node:net'
import { answerTimeoutMs, type Drive, drive, type LoadResult, type Talk } from './drive.ts'

/** `ok` and `taken`: the status is all it says, 200 or 202. `streamed`: latencies are those of the first event. */
export type Load = Drive & { readonly says: 'accepted' | 'ok' | 'taken' | 'completed' | 'streamed' }

const headEnd = Buffer.from('\r\n\r\n')
const lastChunk = Buffer.from('\r\n0\r\n\r\n')
const marks = { accepted: Buffer.from('"accepted"'), completed: Buffer.from('TASK_STATE_COMPLETED') }
const firstEvent = Buffer.from('\ndata: ')

/** Ends at the deadline or with the last request. Rejects at the first answer that is not an acceptance. */
export async function runLoad({ says, ...load }: Load): Promise<LoadResult> {
  return drive(load, open, (socket, talk) => converse(socket, { ...talk, says }))
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

function converse(socket: Socket, { take, says, latenciesMs }: Talk & { readonly says: Load['says'] }): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentAt = 0
    let firstAt: number | undefined
    let received: Buffer = Buffer.alloc(0)
    const send = (): void => {
      const request = take()
      if (request === undefined) {
        resolve()
        return
      }
      sentAt = performance.now()
      socket.write(request)
    }
    socket.setTimeout(answerTimeoutMs, () => reject(new Error(`no answer within ${answerTimeoutMs} ms`)))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the subject closed the connection')))
    socket.on('data', (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      if (says === 'streamed' && firstAt === undefined && received.includes(firstEvent)) firstAt = performance.now()
      const end = findAnswerEnd(received)
      if (end === 'unknown') return reject(new Error('the subject does not say how long its answer is'))
      if (end === 'incomplete' || received.length < end) return undefined
      latenciesMs.push((firstAt ?? performance.now()) - sentAt)
      firstAt = undefined
      if (!isAccepted(received, says)) return reject(new Error(`not accepted: ${firstLine(received)}`))
      received = Buffer.alloc(0)
      return send()
    })
    send()
  })
}

/** How long the whole answer is, as far as its head tells. */
export function findAnswerEnd(received: Buffer): number | 'incomplete' | 'unknown' {
  const head = received.indexOf(headEnd)
  if (head === -1) return 'incomplete'
  const text = received.toString('latin1', 0, head)
  if (/\r\ntransfer-encoding: chunked/i.test(text)) {
    // The line end that closes the head may be the one before the last chunk.
    const last = received.indexOf(lastChunk, head + headEnd.length - 2)
    return last === -1 ? 'incomplete' : last + lastChunk.length
  }
  const declared = /\r\ncontent-length: (\d+)/i.exec(text)?.[1]
  return declared === undefined ? 'unknown' : head + headEnd.length + Number(declared)
}

/** A refusal or a duplicate is answered faster than a stored message; counting it would flatter the subject. */
function isAccepted(answer: Buffer, says: Load['says']): boolean {
  if (answer.toString('latin1', 9, 12) !== (says === 'taken' ? '202' : '200')) return false
  return says === 'ok' || says === 'taken' || answer.includes(marks[says === 'accepted' ? says : 'completed'])
}

function firstLine(answer: Buffer): string {
  return answer.toString('latin1', 0, 200).split('\r\n')[0] ?? ''
}
