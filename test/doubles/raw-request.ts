// One request as it was made up, byte for byte: with the headers of an arrival and none besides.
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { RawRequest } from '../../src/contract/index.ts'

export type Knocked = { readonly status: number; readonly headers: IncomingHttpHeaders }

/** `near`: where it is listened to, whatever host the headers name. */
export function knock(near: string, { bytes, headers }: Pick<RawRequest, 'bytes' | 'headers'>): Promise<Knocked> {
  const { hostname: host, port } = new URL(near)
  const said = Object.entries(headers).filter(([name]) => !name.startsWith(':'))
  const options = { host, port, path: headers[':path'] ?? '/', method: 'POST', headers: Object.fromEntries(said) }
  return new Promise((resolve, reject) => {
    const request = httpRequest(options, (response) => {
      response.resume()
      resolve({ status: response.statusCode ?? 0, headers: response.headers })
    })
    request.on('error', reject)
    request.end(bytes)
  })
}
