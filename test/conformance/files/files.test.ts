// The conformance cases of signed URLs and attachments, and the list of those that need a listener or a turn.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { bytesOf, fileOf, openTestDesk } from '../../doubles/attachment-service.ts'
import { type Case, conform } from '../conform.ts'
import { signedUrlCases } from './signed-url-cases.ts'
import { ann, ownedScene, s3Url, seedUrl, signature, supabaseUrl } from './signed-url-setup.ts'

/** They are about routes, histories and turns, and run where those are. */
const elsewhere: Readonly<Record<string, string>> = {
  'SU-19': 'db/api/history.test.ts',
  'SU-20': 'db/api/history.test.ts',
  'SU-21': 'db/api/history.test.ts',
  'SU-22': 'db/api/attachments.test.ts',
  'SU-24': 'unit/sessions/transcript.test.ts',
  'SU-25': 'unit/sessions/transcript.test.ts',
  'SU-27': 'unit/node/guarded-fetch.test.ts',
}

const fileCases: readonly Case[] = [
  {
    id: 'SU-23',
    claim: 'declared a picture, and its bytes are a page: nothing of it is kept',
    run: async () => {
      const scene = await openTestDesk()
      const outcome = await scene.desk.store(fileOf('<html><script>x</script></html>', { declaredMime: 'image/png' }))
      const kept = [
        ...(await scene.objects()),
        ...scene.rows.pending(),
        ...(await scene.desk.list({ before: null, limit: 9 })),
      ]
      await scene.close()
      return { ...outcome, kept }
    },
    expected: { kind: 'refused', code: 'SU_MIME', kept: [] },
  },
  {
    id: 'SU-26',
    claim: 'a URL in a message is never fetched, so it cannot lead inside',
    run: async () => {
      const { desk } = await ownedScene()
      const hosts = ['[::1]', '192.168.0.1', '127.0.0.1', '169.254.169.254', 'localhost', '0x7f000001', '2130706433']
      const outcomes = await Promise.all(hosts.map(async (host) => desk.claim(await supabaseUrl({ host }), ann)))
      return [...new Set(outcomes.map((outcome) => (outcome.kind === 'refused' ? outcome.code : outcome.kind)))]
    },
    equals: ['SU_HOST'],
  },
  {
    id: 'SU-28',
    claim: 'nothing that is logged, answered or thrown carries a token or a signature',
    run: async () => {
      const { desk, lines } = await ownedScene()
      const secrets = ['the-secret-token', signature['X-Amz-Signature']]
      const urls = [
        seedUrl.replace('token=xxx', 'token=the-secret-token'),
        seedUrl.replace('token=xxx', 'token=the-secret-token.the-secret-token.x'),
        seedUrl.replace('xxx.supabase', 'yyy.supabase').replace('token=xxx', 'token=the-secret-token'),
        s3Url('https://s3.eu-central-1.amazonaws.com/agent-inbox/agent-inputs/none.jpg'),
      ]
      const told: unknown[] = []
      for (const url of urls) told.push(await desk.claim(url, ann), await desk.redeem(url).catch(String))
      const all = JSON.stringify([told, lines])
      return { outcomes: told.length, leaked: secrets.filter((each) => all.includes(each)) }
    },
    equals: { outcomes: 8, leaked: [] },
  },
]

conform('signed URLs', signedUrlCases)
conform('files', fileCases)

describe('the conformance suite of attachments', () => {
  const specified = Array.from({ length: 28 }, (_, index) => `SU-${String(index + 1).padStart(2, '0')}`)
  const run = [...new Set([...signedUrlCases, ...fileCases].map(({ id }) => id.replace(/[a-z]$/, '')))]

  test(`runs ${run.length} of ${specified.length} cases here; the others are run by routes and turns`, () => {
    expect([...run, ...Object.keys(elsewhere)].toSorted()).toEqual(specified)
  })

  test.each(Object.entries(elsewhere))('%s is run by test/%s', (id, file) => {
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toContain(`'${id} `)
  })
})

test('what an upload answers is what a message may send back', async () => {
  const scene = await openTestDesk()
  const outcome = await scene.desk.store(fileOf(Uint8Array.from([0xff, 0xd8, 0xff, 0xe0, 0, 0]), { name: 'img.jpg' }))
  if (outcome.kind !== 'stored') throw new Error(outcome.code)
  const { url } = await scene.desk.handle(outcome.descriptor, { kind: 'person', principal: 'person:ann' })
  expect(await scene.desk.claim(url, { principal: 'person:ann', threadId: 'thread-123' })).toEqual({
    kind: 'claimed',
    descriptor: outcome.descriptor,
  })
  expect((await bytesOf(await scene.desk.open(outcome.descriptor))).length).toBe(6)
  await scene.close()
})
