// Headers read straight from Node are the ones the standard's Headers would show; a signature is looked up in them.
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { joinedHeaders } from '../../../src/node/incoming-request.ts'

const names = ['X-Signature', 'x-signature', 'Content-Type', 'HOST', 'Cookie', 'Authorization', 'x-other']

test('the header reader agrees with the Fetch standard about names, order of repeats and how they are joined', () => {
  const header = fc.tuple(
    fc.constantFrom(...names),
    fc.stringMatching(/^[a-z0-9=;, ]{0,12}$/).map((text) => text.trim()),
  )
  fc.assert(
    fc.property(fc.array(header, { maxLength: 8 }), (given) => {
      const standard = new Headers()
      for (const [name, value] of given) standard.append(name, value)
      expect(joinedHeaders(given.flat())).toEqual(Object.fromEntries(standard))
    }),
  )
})

test('a name of the language itself is only a name', () => {
  const headers = joinedHeaders(['__proto__', 'x', 'constructor', 'y'])
  expect(Object.getPrototypeOf(headers)).toBe(Object.prototype)
  expect(Object.entries(headers)).toEqual([['constructor', 'y']])
})

test('the header reader reads a repeated header from the wire', async () => {
  const seen = new Promise<object>((resolve) => {
    const server = createServer((request, response) => {
      response.end(() => server.close())
      resolve(joinedHeaders(request.rawHeaders))
    })
    server.listen(0, '127.0.0.1', () => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      socket.end('GET / HTTP/1.1\r\nHost: a\r\nX-Sig: one\r\nx-sig:  two \r\nConnection: close\r\n\r\n')
      socket.resume()
    })
  })
  expect(await seen).toEqual({ host: 'a', 'x-sig': 'one, two', connection: 'close' })
})
