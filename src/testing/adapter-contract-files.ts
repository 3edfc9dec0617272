// The adapter kit about what is not in a message: files that a platform holds for us or a reply brings, and what is answered.
import { inspect } from 'node:util'
import type { FileSource, OpenedFile, Part } from '../contract/index.ts'
import { channelContextSchema } from '../contract/message.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { createAttempt, createTextReply, withScriptedServer } from './adapter-contract-outbound.ts'
import { type AdapterFixtures, createAdapterFromFixtures, type DeclareClause } from './adapter-fixtures.ts'
import { expect } from './expect.ts'
import type { Fault, ScriptedServer } from './scripted-server.ts'

const attachment = { id: '018f0000-0000-7000-8000-000000000001', bucket: 'agent-files', path: 'a/b.txt' }

export function declareFileClauses(fixtures: AdapterFixtures, clause: DeclareClause): void {
  clause('verb: openFile gives the bytes, or says why not, and never how it asked', async () => {
    if (fixtures.ownFiles !== undefined) return assertOwnFilesOpen(fixtures, fixtures.ownFiles)
    const cases: readonly [Fault, unknown][] = [
      [scriptedDownloadAnswer(200, 'the bytes', 'application/octet-stream'), { kind: 'opened' }],
      [scriptedDownloadAnswer(404, '{}'), { kind: 'refused', reason: 'gone' }],
      [
        scriptedDownloadAnswer(200, '<!doctype html><title>Sign in</title>', 'text/html'),
        { kind: 'refused', reason: 'login_page' },
      ],
      [scriptedDownloadAnswer(500, '{}'), { kind: 'retry' }],
      [{ ...scriptedDownloadAnswer(302, ''), headers: { location: 'http://127.0.0.1:9/' } }, { kind: 'refused' }],
      [{ kind: 'drop', when: 'before' }, { kind: 'retry' }],
    ]
    for (const [fault, expected] of cases) {
      const opened = await openFileWithFault(fixtures, fault)
      expect(opened, JSON.stringify(fault)).toMatchObject(expected as object)
      for (const secret of Object.values(fixtures.secrets)) expect(inspect(opened, { depth: 9 })).not.toContain(secret)
    }
  })
  clause('verb: fetchReferenced asks at no address that is not safe', async () => {
    const { fetchReferenced, channel } = createAdapterFromFixtures(fixtures)
    if (fetchReferenced === undefined) return
    for (const named_at of [
      'http://169.254.169.254/latest',
      'file:///etc/passwd',
      'https://[::1]/',
      'no address',
      '',
    ]) {
      const facts = channelContextSchema.parse({ connector_id: 'default', external_provider: channel, named_at })
      const asked = { message: { id: named_at, channel: facts }, agent: 'demo' }
      expect(await fetchReferenced(asked, AbortSignal.timeout(5000))).toMatchObject({ kind: 'refused' })
    }
  })

  clause('verb: fetchAncestors says nothing where nothing is answered, or the turn is over', async () => {
    const { fetchAncestors: around } = createAdapterFromFixtures(fixtures)
    if (around === undefined) return
    const askForAncestors = (signal: AbortSignal, more: object) =>
      around({ message: { id: 'https://a.example/1', ...more }, agent: 'demo', knownIds: new Set() }, signal)
    expect(await askForAncestors(AbortSignal.timeout(5000), {})).toEqual([])
    expect(await askForAncestors(AbortSignal.abort(), { in_reply_to: 'https://a.example/0' })).toEqual([])
  })
  clause('deliver: a file is one upload, and none where there is nothing to upload', async () => {
    await withScriptedServer(async (server) => {
      server.failAlways('any', { kind: 'answer', ...requireSuccessAnswer(fixtures) })
      expect(await sendFileReply(fixtures, server, 'some bytes')).toMatchObject({ kind: 'delivered' })
      expect(server.calls.map(({ body }) => fixtures.files?.uploaded(body))).toEqual(['some bytes'])
      expect(await sendFileReply(fixtures, server, '')).toEqual({ kind: 'refused', reason: 'file_empty' })
      expect(await sendFileReply(fixtures, server, undefined)).toEqual({ kind: 'refused', reason: 'file_gone' })
      expect(server.calls).toHaveLength(1)
    })
  })
}

async function assertOwnFilesOpen(
  fixtures: AdapterFixtures,
  { ref, gone }: NonNullable<AdapterFixtures['ownFiles']>,
): Promise<void> {
  const openFileByRef = async (given: JsonObject) =>
    createAdapterFromFixtures(fixtures).openFile?.(given, AbortSignal.timeout(5000))
  const opened = await openFileByRef(ref)
  if (opened?.kind !== 'opened') return expect.unreachable(JSON.stringify(opened))
  expect((await new Response(opened.body).text()).trim()).toBe('the bytes')
  for (const each of [gone, {}, { ...ref, index: 99 }])
    expect(await openFileByRef(each)).toEqual({ kind: 'refused', reason: 'gone' })
}

function scriptedDownloadAnswer(status: number, body: string, type = 'application/json') {
  return { kind: 'answer', status, body, headers: { 'content-type': type } } as const
}

function requireSuccessAnswer({ vendor }: AdapterFixtures) {
  return vendor?.success ?? expect.unreachable('no vendor answers in the fixtures')
}

async function openFileWithFault(
  fixtures: AdapterFixtures,
  fault: Fault,
): Promise<OpenedFile & { readonly said?: string }> {
  const { files } = fixtures
  if (files === undefined) return expect.unreachable('no files in the fixtures')
  return withScriptedServer(async (server) => {
    server.failBy('any', ({ path }) => (files.isDownload(path) ? fault : { kind: 'answer', ...files.before }))
    const opened = await createAdapterFromFixtures(fixtures, server.origin).openFile?.(
      files.ref,
      AbortSignal.timeout(5000),
    )
    if (opened === undefined) return expect.unreachable('openFile is not there')
    if (opened.kind !== 'opened') return opened
    const said = await new Response(opened.body).text()
    expect(said).toBe('the bytes')
    return { ...opened, said }
  })
}

async function sendFileReply(fixtures: AdapterFixtures, { origin }: ScriptedServer, bytes: string | undefined) {
  const files: FileSource = { open: async () => (bytes === undefined ? undefined : toFileContent(bytes)) }
  const adapter = createAdapterFromFixtures(fixtures, origin, fetch, undefined, files)
  const bytesRef = { kind: 'content_addressed', algo: 'sha256', digest: '0'.repeat(64) } as const
  const part: Part = {
    kind: 'file',
    bytes_ref: bytesRef,
    mime: 'text/plain',
    name: 'a "b"; c.txt',
    size: 10,
    attachment,
  }
  const calls = adapter.render(createTextReply('', { parts: [part] }), fixtures.replyTo)
  expect(calls, 'one call, and no words about it').toHaveLength(1)
  expect(calls[0]?.primary).toBe(true)
  const call: JsonObject = JSON.parse(JSON.stringify(calls[0]?.call))
  return adapter.deliver(call, createAttempt(1))
}

function toFileContent(text: string) {
  const bytes = new TextEncoder().encode(text)
  return { body: new Blob([bytes]).stream(), size: bytes.length, mimeType: 'text/plain', name: 'a.txt' }
}
