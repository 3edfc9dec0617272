// What the operator wrote down for tests, with the fetch that the program itself has.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLoopbackFetch } from '../../../../../adapters/activitypub/actors/fetch-document.ts'
import { createPinnedFetch } from '../../../../../src/node/guarded-fetch.ts'

const server = createServer(({ url }, response) => {
  if (url === '/away') response.writeHead(302, { location: `${away}/here` })
  response.end('here')
})
const other = createServer((_request, response) => response.end('there'))
let [origin, away] = ['', '']
beforeAll(async () => {
  for (const each of [server, other]) await new Promise<void>((resolve) => each.listen(0, '127.0.0.1', resolve))
  ;[origin = '', away = ''] = [server, other].map((each) => `http://127.0.0.1:${(each.address() as AddressInfo).port}`)
})
afterAll(() => {
  for (const each of [server, other]) each.close()
})

const near = (...origins: readonly string[]) =>
  createLoopbackFetch({ guardedFetch: createPinnedFetch(), fetch }, origins)

test('an address of this machine that is written down is asked', async () => {
  const outcome = await near(origin).fetch(`${origin}/here`)
  expect(outcome.kind === 'answered' && (await outcome.response.text())).toBe('here')
})

test('nothing else of this machine is asked, neither beside it nor by a name nor by being sent there', async () => {
  const byName = origin.replace('127.0.0.1', 'localhost')
  expect(await near(origin).fetch(`${away}/here`)).toEqual({ kind: 'refused', reason: 'scheme' })
  expect(await near(origin, byName).fetch(`${byName}/here`, { origins: [byName] })).toEqual({
    kind: 'refused',
    reason: 'address',
  })
  expect(await near(origin).fetch(`${origin}/away`, { maxRedirects: 3 })).toEqual({
    kind: 'refused',
    reason: 'redirect',
  })
  expect(await near().fetch(`${origin}/here`, { origins: [origin] })).toEqual({ kind: 'refused', reason: 'address' })
})
