// Hands one mail or one request in, byte for byte, and says what it was answered.
import { connect, type Socket } from 'node:net'
import type { StrangerRequest } from './http-shapes.ts'
import { mailAccount, strangerDomain } from './mail-shapes.ts'

const answerMs = 120_000
const pieceBytes = 64 * 1024

/** The three digits of the last reply, or why there was none. */
export async function sendMail(port: number, mail: Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, localAddress: nextAddress() })
  const replies = replyReader(socket)
  try {
    await replies()
    for (const command of [
      'EHLO out.stranger.example',
      `MAIL FROM:<someone@${strangerDomain}>`,
      `RCPT TO:<${mailAccount.agent}@${mailAccount.domain}>`,
      'DATA',
    ]) {
      socket.write(`${command}\r\n`)
      const code = await replies()
      if (!/^[23]/.test(code)) return code
    }
    await write(socket, stuffed(mail))
    socket.write('\r\n.\r\n')
    return await replies()
  } catch (error) {
    return error instanceof Error ? error.message : 'failed'
  } finally {
    socket.destroy()
  }
}

let addresses = 0

/** Each mail comes from another: what an address may send counts arrivals, and strangers have as many addresses as they like. */
function nextAddress(): string {
  addresses += 1
  return `127.${1 + ((addresses >> 16) % 100)}.${(addresses >> 8) % 256}.${1 + (addresses % 250)}`
}

/** A dot at the beginning of a line is doubled (RFC 5321, 4.5.2). */
function stuffed(mail: Buffer): Buffer {
  if (!mail.includes('\n.')) return mail
  return Buffer.from(mail.toString('latin1').replaceAll('\n.', '\n..'), 'latin1')
}

/** The status, or why there was none: the gateway may hang up on what it does not want to read. */
export async function sendRequest(port: number, request: Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const answer = new Promise<string>((resolve) => {
    let text = ''
    const late = setTimeout(() => resolve('no answer'), answerMs)
    const end = (word: string) => () => {
      clearTimeout(late)
      resolve(word)
    }
    socket.on('data', (chunk: Buffer) => {
      text = (text + chunk.toString('latin1')).slice(0, 4096)
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]
      if (status !== undefined && status !== '100') end(status)()
    })
    socket.on('error', () => end('hung up')())
    socket.on('close', end('hung up'))
  })
  try {
    await write(socket, request, answer)
    return await answer
  } finally {
    socket.destroy()
  }
}

/** As it goes over the wire. */
export function requestBytes({ method, path, headers, body, chunkBytes }: StrangerRequest): Buffer {
  const given = new Set(headers.map(([name]) => name))
  const lines = [
    `${method} ${path} HTTP/1.1`,
    ...(given.has('host') ? [] : ['host: 127.0.0.1']),
    ...headers.map(([name, value]) => `${name}: ${value}`),
    'connection: close',
    ...(method === 'GET'
      ? []
      : [chunkBytes === undefined ? `content-length: ${body.length}` : 'transfer-encoding: chunked']),
  ]
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  return Buffer.concat([head, chunkBytes === undefined ? body : chunked(body, chunkBytes)])
}

function chunked(body: Buffer, chunkBytes: number): Buffer {
  const made: string[] = []
  for (let at = 0; at < body.length; at += chunkBytes) {
    const piece = body.subarray(at, at + chunkBytes)
    made.push(`${piece.length.toString(16)}\r\n${piece.toString('latin1')}\r\n`)
  }
  return Buffer.from(`${made.join('')}0\r\n\r\n`, 'latin1')
}

/** As fast as the other side reads; not to the end if it has answered before. */
async function write(socket: Socket, bytes: Buffer, answered?: Promise<unknown>): Promise<void> {
  let isOver = false
  const over = new Promise<void>((resolve) => {
    const end = (): void => {
      isOver = true
      resolve()
    }
    void answered?.then(end)
    socket.once('close', end)
  })
  for (let at = 0; at < bytes.length && !isOver; at += pieceBytes) {
    if (socket.write(bytes.subarray(at, at + pieceBytes))) continue
    await Promise.race([new Promise<void>((resolve) => socket.once('drain', resolve)), over])
  }
}

/** A reply of several lines is one. */
function replyReader(socket: Socket): () => Promise<string> {
  let text = ''
  let waiting: PromiseWithResolvers<string> | undefined
  const look = (): void => {
    const found = /^(?:\d{3}-.*\r\n)*(\d{3})(?: .*)?\r\n/.exec(text)
    if (found === null || waiting === undefined) return
    text = text.slice(found[0].length)
    waiting.resolve(found[1] ?? '')
    waiting = undefined
  }
  const fail = (why: string) => () => waiting?.reject(new Error(why))
  socket.setTimeout(answerMs, fail('no answer'))
  socket.on('error', fail('hung up'))
  socket.on('close', fail('hung up'))
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    look()
  })
  return () => {
    waiting = Promise.withResolvers()
    const { promise } = waiting
    look()
    if (socket.destroyed) waiting?.reject(new Error('hung up'))
    return promise
  }
}
