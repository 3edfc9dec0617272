// Rows of files: one object per content, one descriptor per id, and an object goes when nobody refers to it, whoever races.
import { expect, test } from 'vitest'
import { type AttachmentStore, createAttachmentStore } from '../../../src/db/attachments.ts'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { openPostgres } from '../../../src/db/postgres.ts'
import { anUpload, begin, newUuid, pathOf, stored } from '../../doubles/uploads.ts'
import { watchedDatabase } from '../../doubles/watched-database.ts'
import { describeOnPostgres } from '../../setup/databases.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'

const aged = (table: string, column: string) =>
  nameStatement('test_aged', `update ${table} set ${column} = ${column} - interval '25 hours'`)
const blobs = nameStatement(
  'test_blobs',
  'select status, count(*)::int as n from blobs group by status order by status',
)
const audited = nameStatement('test_audited', 'select action, outcome, actor, object_id as "objectId" from audit_log')

class Killed extends Error {}

describeOnDatabase('the attachment store', (database) => {
  const storeOn = (on: Database, tenant = 'default'): AttachmentStore => createAttachmentStore(on, tenant)
  const store = (): AttachmentStore => storeOn(database())
  const due = () => store().due(10, 24)

  test('remembers an upload as it was finished, by id and by address, for its tenant alone', async () => {
    const upload = await begin(store(), anUpload())
    const { descriptor, spare } = await store().finish(upload)
    const { blobId: _, attachmentId: id, ...facts } = upload
    const place = { store: 'folder', bucket: 'attachments', path: pathOf(upload) }
    expect(spare).toBeNull()
    expect(descriptor).toEqual({ ...facts, ...place, id, createdAt: expect.stringMatching(/^\d{4}-.*Z$/) })
    expect(await store().byId(id)).toEqual(descriptor)
    expect(await store().byIds([id, newUuid()])).toEqual([descriptor])
    expect(await store().byAddress(place)).toEqual([descriptor])
    const other = storeOn(database(), 'another')
    expect([await other.byId(id), await other.byAddress(place), await other.list({ before: null, limit: 9 })]).toEqual([
      undefined,
      [],
      [],
    ])
    expect(await other.remove(id, 'operator')).toBe(false)
  })

  test('keeps the same bytes once and names the second object as spare, each with its own descriptor', async () => {
    const first = await stored(store())
    const upload = await begin(store(), anUpload({ owner: { principal: 'gw:user/ada', threadId: null } }))
    const { descriptor, spare } = await store().finish(upload)
    expect(spare).toBe(pathOf(upload))
    expect(descriptor).toMatchObject({ path: first.path, owner: { principal: 'gw:user/ada' } })
    expect((await store().byAddress(first)).map(({ id }) => id)).toEqual([first.id, descriptor.id])
    expect(await due()).toMatchObject([{ id: upload.blobId, path: spare }])
  })

  test('shares no bytes between tenants', async () => {
    await stored(store())
    const upload = await begin(storeOn(database(), 'another'), anUpload())
    expect(await storeOn(database(), 'another').finish(upload)).toMatchObject({ spare: null })
  })

  test('answers an id that exists as it is, with whatever bytes it comes again', async () => {
    const first = await stored(store())
    const again = await begin(store(), anUpload({ attachmentId: first.id, sha256: 'b'.repeat(64), name: 'dog.png' }))
    expect(await store().finish(again)).toEqual({ descriptor: first, spare: pathOf(again) })
  })

  test('gives two who finish the same bytes at once one object and two descriptors', async () => {
    const uploads = await Promise.all(Array.from({ length: 6 }, () => begin(store(), anUpload())))
    const finished = await Promise.all(uploads.map((upload) => store().finish(upload)))
    expect(new Set(finished.map(({ descriptor }) => descriptor.path)).size).toBe(1)
    expect(new Set(finished.map(({ descriptor }) => descriptor.id)).size).toBe(6)
    expect(finished.filter(({ spare }) => spare === null)).toHaveLength(1)
  })

  test('makes one descriptor of the same id twice at once, and the other object is removed', async () => {
    const attachmentId = newUuid()
    const shas = ['c', 'd', 'e'].map((digit) => digit.repeat(64))
    const uploads = await Promise.all(shas.map((sha256) => begin(store(), anUpload({ attachmentId, sha256 }))))
    const finished = await Promise.all(uploads.map((upload) => store().finish(upload)))
    expect(new Set(finished.map(({ descriptor }) => descriptor.sha256)).size).toBe(1)
    await database().query(nameStatement('test_loose', 'update blobs set needs_check = true'), [])
    expect((await due()).map(({ path }) => path)).not.toContain(finished[0]?.descriptor.path)
    expect(await database().query(blobs, [])).toEqual([
      { status: 'deleting', n: 2 },
      { status: 'ready', n: 1 },
    ])
  })

  test('lists newest first, page by page', async () => {
    const ids: string[] = []
    for (const digit of ['1', '2', '3']) ids.push((await stored(store(), { sha256: digit.repeat(64) })).id)
    const [third, second] = await store().list({ before: null, limit: 2 })
    expect([third?.id, second?.id]).toEqual([ids[2], ids[1]])
    expect((await store().list({ before: ids[1] ?? null, limit: 2 })).map(({ id }) => id)).toEqual([ids[0]])
  })

  test('marks a removed one, writes down who did it, and its object goes with the last that refers to it', async () => {
    const [one, other] = [await stored(store()), await stored(store())]
    for (const spare of await due()) await store().gone([spare.id])
    expect([await store().remove(one.id, 'operator:desk'), await store().remove(one.id, 'operator:desk')]).toEqual([
      true,
      false,
    ])
    expect(await store().byId(one.id)).toMatchObject({ status: 'deleted', name: null })
    expect(await due()).toEqual([])
    await store().remove(other.id, 'operator:desk')
    const [blob] = await due()
    expect(blob).toMatchObject({ store: one.store, bucket: one.bucket, path: one.path })
    await store().gone([blob?.id ?? ''])
    expect(await store().byIds([one.id, other.id])).toEqual([])
    const line = { action: 'attachment.delete', outcome: 'done', actor: 'operator:desk' }
    expect(await database().query(audited, [])).toEqual([
      { ...line, objectId: one.id },
      { ...line, objectId: other.id },
    ])
  })

  test('takes back what was begun and never finished after a day, and refuses a later finish', async () => {
    const upload = await begin(store(), anUpload())
    expect(await due()).toEqual([])
    await database().query(aged('blobs', 'created_at'), [])
    expect(await due()).toMatchObject([{ id: upload.blobId, path: pathOf(upload) }])
    await expect(store().finish(upload)).rejects.toMatchObject({ code: 'conflict' })
    expect(await store().byId(upload.attachmentId)).toBeUndefined()
  })

  test('takes back an upload that no message used after a day, and leaves one that a message uses', async () => {
    const [unused, used] = [await stored(store()), await stored(store(), { sha256: 'f'.repeat(64) })]
    await store().use([used.id], { inboxId: null, sessionId: newUuid() })
    expect(await due()).toEqual([])
    await database().query(aged('attachments', 'created_at'), [])
    expect(await due()).toMatchObject([{ path: unused.path }])
    expect(await store().byIds([unused.id, used.id])).toMatchObject([{ id: used.id }])
  })

  test('asks again for what was to be removed until it is gone, and lets no stubborn one stand in the way', async () => {
    const uploads = await Promise.all(['7', '8'].map((digit) => begin(store(), anUpload({ sha256: digit.repeat(64) }))))
    await database().query(aged('blobs', 'created_at'), [])
    const first = await store().due(1, 24)
    const second = await store().due(1, 24)
    expect([...first, ...second].map(({ id }) => id).toSorted()).toEqual(uploads.map(({ blobId }) => blobId).toSorted())
    expect(await due()).toHaveLength(2)
    await store().gone(uploads.map(({ blobId }) => blobId))
    expect(await due()).toEqual([])
  })

  test('leaves nothing behind when a process dies after any statement of an upload, its removal and its sweep', async () => {
    for (const last of [
      'begin_blob',
      'finish_upload',
      'remove_attachment',
      'drop_unsent_attachments',
      'blobs_due',
      'none',
    ]) {
      const dying = storeOn(
        watchedDatabase(database(), (name) => {
          if (name === `after:${last}`) throw new Killed(last)
        }),
      )
      const upload = anUpload({ sha256: '9'.repeat(64) })
      const life = async (): Promise<void> => {
        const { descriptor } = await dying.finish(await begin(dying, upload))
        await dying.remove(descriptor.id, 'operator')
        await dying.gone((await dying.due(10, 24)).map(({ id }) => id))
      }
      if (last === 'none') await life()
      else await expect(life()).rejects.toBeInstanceOf(Killed)
      await database().query(aged('blobs', 'created_at'), [])
      await database().query(aged('attachments', 'created_at'), [])
      await store().gone((await due()).map(({ id }) => id))
      expect([last, await database().query(blobs, []), await store().byId(upload.attachmentId)]).toEqual([
        last,
        [],
        undefined,
      ])
    }
  })
})

const locked = nameStatement('test_locked', 'select 1 as locked from blobs where path = $1 for update')
const waiting = nameStatement(
  'test_waiting',
  `select count(*)::int as n from pg_stat_activity
   where datname = current_database() and wait_event_type = 'Lock' and query like '%tried_at = now()%'`,
)

describeOnPostgres('an object that somebody is about to remove', (adminUrl) => {
  test('is kept where the same bytes are finished between looking and removing', async () => {
    const clone = await takeDatabase(adminUrl)
    const database = openPostgres({ url: clone.url })
    const store = createAttachmentStore(database, 'default')
    const first = await stored(store)
    const upload = await begin(store, anUpload())
    await store.remove(first.id, 'operator')
    let sweeping: ReturnType<AttachmentStore['due']> | undefined
    await database.transaction(async (sql) => {
      await sql.query(locked, [first.path])
      sweeping = store.due(10, 24)
      // It has read that nobody refers to the object, and waits for the row.
      await expect.poll(async () => (await database.query<{ n: number }>(waiting, []))[0]?.n).toBe(1)
      await createAttachmentStore({ ...database, ...sql }, 'default').finish(upload)
    })
    expect((await sweeping)?.map(({ path }) => path)).not.toContain(first.path)
    expect(await store.byId(upload.attachmentId)).toMatchObject({ path: first.path })
    expect((await store.due(10, 24)).map(({ path }) => path)).not.toContain(first.path)
    await database.close()
    await clone.drop()
  })
})
