// A body that a caller sends, breaks off, or makes too long.
import { expect, test } from 'vitest'
import { readBody } from '../../../src/lib/index.ts'

function request(chunks: readonly string[], isBrokenOff: boolean, headers: Readonly<Record<string, string>> = {}) {
  const left = chunks.map((chunk) => new TextEncoder().encode(chunk))
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = left.shift()
      if (next !== undefined) controller.enqueue(next)
      else if (isBrokenOff) controller.error(new Error('the connection was closed'))
      else controller.close()
    },
  })
  return new Request('http://localhost/', { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
}

test('a body that breaks off is the fault of its sender, with a length and without', async () => {
  const refused = { code: 'bad_request' }
  await expect(readBody(request(['ab'], true), 10)).rejects.toMatchObject(refused)
  await expect(readBody(request(['ab'], true, { 'content-length': '5' }), 10)).rejects.toMatchObject(refused)
})

test('a body is read to its end, and not beyond what is allowed', async () => {
  expect(await readBody(request(['ab', 'c'], false), 3)).toEqual(new TextEncoder().encode('abc'))
  expect(await readBody(request(['ab', 'cd'], false), 3)).toBeUndefined()
})
