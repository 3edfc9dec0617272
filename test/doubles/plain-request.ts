// One HTTP request with exactly the headers that a test names: also those that fetch would not send, and over a socket.
import { request } from 'node:http'

export type PlainRequest = {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}
export type PlainAnswer = { readonly status: number; readonly body: string }

/** `at`: an address, or the path of a socket. */
export function sendPlain(
  at: string,
  { method = 'GET', path, headers = {}, body }: PlainRequest,
): Promise<PlainAnswer> {
  const target = at.startsWith('/') ? { socketPath: at } : { host: new URL(at).hostname, port: new URL(at).port }
  const host = at.startsWith('/') ? 'localhost' : new URL(at).host
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return new Promise((resolve, reject) => {
    const sent = request(
      { ...target, method, path, headers: { host, ...length, ...headers }, agent: false },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
        )
        response.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}
