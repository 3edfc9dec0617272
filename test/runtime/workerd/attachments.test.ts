// Files in workerd: the kit on a real R2 binding, and a desk that stores there and hands out.
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createAttachmentService } from '../../../src/files/attachment-service.ts'
import { createR2Store } from '../../../src/files/drivers/r2.ts'
import { sniffType } from '../../../src/files/sniff-type.ts'
import { memoryKeys, memoryRows } from '../../doubles/memory-attachments.ts'
import { blobStoreContract } from '../../unit/files/drivers/blob-store-contract.ts'

const store = createR2Store({ binding: env.ATTACHMENTS, bucket: 'agent-files' })

async function keys(): Promise<readonly string[]> {
  return (await env.ATTACHMENTS.list()).objects.map(({ key }) => key)
}

blobStoreContract('an R2 binding', async () => ({
  store,
  everything: keys,
  close: async () => {
    for (const key of await keys()) await env.ATTACHMENTS.delete(key)
  },
}))

test('a desk in workerd stores a file, signs a handle for it and redeems it', async () => {
  const quiet = () => {}
  const desk = createAttachmentService({
    tenant: 'default',
    attachments: memoryRows(),
    keys: memoryKeys(),
    stores: [store],
    publicOrigin: 'https://parley.example',
    newId: () => crypto.randomUUID(),
    now: Date.now,
    log: { info: quiet, warn: quiet, error: quiet },
  })
  const owner = { principal: 'person:ann', threadId: null }
  const body = new Blob(['hello']).stream()
  const outcome = await desk.store({ body, owner, origin: { receivedVia: 'api', nativeId: null } })
  if (outcome.kind !== 'stored') throw new Error(outcome.code)
  const { descriptor } = outcome
  expect(descriptor).toMatchObject({ store: 'r2', mimeType: 'text/plain', size: 5 })
  const { url } = await desk.handle(descriptor, { kind: 'person', principal: 'person:ann' })
  expect(await desk.redeem(url)).toEqual({ kind: 'redeemed', descriptor })
  expect(await new Response(await desk.open(descriptor)).text()).toBe('hello')
  const object = await env.ATTACHMENTS.head(descriptor.path)
  expect(object?.httpMetadata?.contentType).toBe('text/plain; charset=utf-8')
})

test('types are told in workerd as on Node, in every encoding', () => {
  const utf16 = Uint8Array.from(
    [...'\ufeff<html>'].flatMap((letter) => [letter.charCodeAt(0) >> 8, letter.charCodeAt(0) & 0xff]),
  )
  expect(sniffType(utf16)).toEqual({ mimeType: 'text/html', isActive: true })
})
