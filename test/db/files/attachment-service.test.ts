// The desk on its real rows: a folder, a database, and files that come, are claimed and go.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createAttachmentStore } from '../../../src/db/attachments.ts'
import { createSigningKeyStore } from '../../../src/db/signing-keys.ts'
import type { AttachmentService, StoreOutcome } from '../../../src/files/attachment.ts'
import { createAttachmentService } from '../../../src/files/attachment-service.ts'
import { createSeal } from '../../../src/gateway/seal.ts'
import { createFolderStore } from '../../../src/node/folder-blob-store.ts'
import { ann, bytesOf, fileOf } from '../../doubles/attachment-service.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const bob = { principal: 'person:bob', threadId: null } as const
const newId = () => crypto.randomUUID()

function stored(outcome: StoreOutcome) {
  if (outcome.kind !== 'stored') throw new Error(`refused: ${outcome.code}`)
  return outcome.descriptor
}

describeOnDatabase('the attachment desk', (database) => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-files-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const openDesk = async (tenant = 'default', orphanHours = 24): Promise<AttachmentService> => {
    const quiet = () => {}
    const seal = createSeal(async () => [new Uint8Array(32).fill(7)])
    const fillRandom = (bytes: Uint8Array<ArrayBuffer>) => void crypto.getRandomValues(bytes)
    return createAttachmentService({
      tenant,
      newId,
      now: Date.now,
      publicOrigin: 'https://parley.example',
      options: { orphanHours },
      attachments: createAttachmentStore(database(), tenant),
      keys: createSigningKeyStore(database(), { tenant, newId, fillRandom, seal }),
      stores: [await createFolderStore({ folder })],
      log: { info: quiet, warn: quiet, error: quiet },
    })
  }
  const files = async () =>
    (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length

  test('stores, claims, hands out and redeems', async () => {
    const desk = await openDesk()
    const descriptor = stored(await desk.store(fileOf('hello', { name: 'hello.txt' })))
    const { url } = await desk.handle(descriptor, { kind: 'person', principal: ann.principal })
    expect(await desk.redeem(url)).toEqual({ kind: 'redeemed', descriptor })
    expect(await desk.claim(url, ann)).toEqual({ kind: 'claimed', descriptor })
    expect(await desk.claim(url, bob)).toMatchObject({ kind: 'refused', code: 'SU_OWNER' })
    expect(new TextDecoder().decode(await bytesOf(await desk.open(descriptor)))).toBe('hello')
  })

  test('keeps the same bytes once, however many send them at once', async () => {
    const desk = await openDesk()
    const sent = await Promise.all(Array.from({ length: 6 }, () => desk.store(fileOf('the same'))))
    expect(new Set(sent.map((outcome) => stored(outcome).path)).size).toBe(1)
    expect(await files()).toBe(1)
  })

  test('of another tenant knows neither the object nor the key', async () => {
    const [ours, theirs] = [await openDesk(), await openDesk('other')]
    const descriptor = stored(await ours.store(fileOf('hello')))
    const { url } = await ours.handle(descriptor, { kind: 'person', principal: ann.principal })
    expect(await theirs.redeem(url)).toMatchObject({ kind: 'refused', code: 'SU_TOKEN_MALFORMED' })
    expect(await theirs.claim(url, ann)).toMatchObject({ kind: 'refused', code: 'SU_UNKNOWN_OBJECT' })
  })

  test('removes the object with its last owner', async () => {
    const desk = await openDesk()
    const [first, second] = [
      stored(await desk.store(fileOf('same'))),
      stored(await desk.store(fileOf('same', { owner: bob }))),
    ]
    await desk.remove(first.id, 'operator')
    await desk.sweep()
    expect(await files()).toBe(1)
    await desk.remove(second.id, 'operator')
    expect(await desk.sweep()).toBe(1)
    expect(await files()).toBe(0)
    expect(await desk.open(second)).toBeUndefined()
  })

  test('removes what nobody ever mentioned', async () => {
    const desk = await openDesk('default', 0)
    const descriptor = stored(await desk.store(fileOf('an orphan')))
    await desk.sweep()
    await desk.sweep()
    expect(await files()).toBe(0)
    expect((await desk.find([descriptor.id])).filter(({ status }) => status === 'ready')).toEqual([])
  })
})
