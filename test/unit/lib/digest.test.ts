// Content-addressed bytes.
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { assertDigest, type ContentAddressed } from '../../../src/lib/index.ts'

const bytes = new TextEncoder().encode('content')
const reference: ContentAddressed = {
  kind: 'content_addressed',
  algo: 'sha256',
  digest: createHash('sha256').update(bytes).digest('hex'),
}

test('the digest check takes the bytes a digest names', async () => {
  await expect(assertDigest(reference, bytes)).resolves.toBeUndefined()
})

test('the digest check takes a view into a larger buffer for what it shows', async () => {
  const larger = new TextEncoder().encode('xxcontentxx')
  await expect(assertDigest(reference, larger.subarray(2, 9))).resolves.toBeUndefined()
})

test('NM-08 throws on any other bytes', async () => {
  await expect(assertDigest(reference, new TextEncoder().encode('Content'))).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('digest'),
  })
})
