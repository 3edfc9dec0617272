// The three JSON shapes of attachments in the run API (upload, message, history), letter for letter, on a project of Supabase's form.
import { afterEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { createAttachmentStore } from '../../src/db/attachments.ts'
import { nameStatement } from '../../src/db/client.ts'
import { createSupabaseStore } from '../../src/files/drivers/supabase.ts'
import { secret } from '../../src/lib/secret.ts'
import { type Api, startApi } from '../doubles/api.ts'
import { streamOf } from '../doubles/attachment-service.ts'
import { type SupabaseServer, startSupabaseServer } from '../doubles/supabase-server.ts'
import { anUpload } from '../doubles/uploads.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const project = 'https://xxx.supabase.co'
const path = 'agent-inputs/u/t/r/img.jpg'
const object = `${project}/storage/v1/object/sign/agent-files/${path}`

const request = `{
  "threadId": "thread-123",
  "runId": "run-456",
  "messages": [
    {
      "id": "msg-1",
      "role": "user",
      "content": [
        {"type": "text", "text": "帮我看看这张图"},
        {
          "type": "binary",
          "mimeType": "image/jpeg",
          "url": "${object}?token=xxx"
        }
      ]
    }
  ]
}`

describeOnDatabase('attachments of the run API', (database) => {
  let server: SupabaseServer
  let api: Api

  const start = async (): Promise<void> => {
    server = await startSupabaseServer()
    const store = createSupabaseStore({
      projectUrl: project,
      key: secret(server.key),
      bucket: server.bucket,
      // The project's own host, as loopback knows it.
      fetch: (url, init) => fetch(String(url).replace(project, server.url), init),
    })
    await store.write(path, streamOf(Uint8Array.from([0xff, 0xd8, 0xff, 0xe0, 1])), { mimeType: 'image/jpeg' })
    const rows = createAttachmentStore(database(), 'default')
    const upload = anUpload({ mimeType: 'image/jpeg', owner: { principal: 'gw:user/local', threadId: 'thread-123' } })
    await rows.begin({ id: upload.blobId, store: store.name, bucket: store.bucket, path })
    await rows.finish(upload)
    const echo = defineAgent({ slug: 'demo', run: ({ parts }) => `${parts.length} parts` })
    const files = { stores: [store], origin: 'https://parley.example' } as const
    api = startApi(database(), [echo], 30_000, { files }, { attachments: { handles: 'store' } })
  }

  afterEach(async () => {
    await api.stop()
    await server.close()
  })

  test('takes its request, stores its metadata, and answers its history with another token', async () => {
    await start()
    expect((await api.run('run-456', { body: request, isHere: true })).status).toBe(200)

    const stored = `select envelope #> '{metadata,user_message_attachments}' as kept from messages where role = 'user'`
    expect(await database().query(nameStatement('test_kept', stored), [])).toEqual([
      { kept: { bucket: 'agent-files', path, mime_type: 'image/jpeg' } },
    ])

    const response = await api.request('/api/v1/agent/history?threadId=thread-123', {}, { isHere: true })
    const { messages } = (await response.json()) as { messages: readonly { content: readonly { url?: string }[] }[] }
    expect(messages[0]).toEqual({
      id: 'msg-1',
      role: 'user',
      content: [
        { type: 'text', text: '帮我看看这张图' },
        { type: 'binary', mimeType: 'image/jpeg', url: expect.stringMatching(/\?token=[\w-]+\.[\w-]+\.[\w-]+$/) },
      ],
    })
    const url = messages[0]?.content[1]?.url ?? ''
    expect(url.startsWith(`${object}?token=`)).toBe(true)
    expect((await fetch(url.replace(project, server.url))).status).toBe(200)
    expect(server.undeclared).toEqual([])
  })
})
