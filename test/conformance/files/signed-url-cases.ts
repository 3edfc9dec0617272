// What a signed URL may look like, and whose the object must be.
import type { Case } from '../conform.ts'
import {
  bob,
  claimed,
  nowMs,
  openScene,
  outcomeOf,
  ownedScene,
  s3Url,
  seedObject,
  seedUrl,
  supabaseToken,
  supabaseUrl,
} from './signed-url-setup.ts'

const seen = 'supabase:agent-files/agent-inputs/u/t/r/img.jpg'
const atS3 = 's3:agent-inbox/agent-inputs/u/t/r/img.jpg'
const all = (urls: readonly (string | Promise<string>)[]) => Promise.all(urls.map(async (url) => claimed(await url)))
const codes = async (urls: readonly (string | Promise<string>)[]) => [...new Set(await all(urls))]
const bySign = (rest: string) => supabaseUrl({ path: `/storage/v1/object/sign/${rest}` })

export const signedUrlCases: readonly Case[] = [
  {
    id: 'SU-01',
    claim: 'the documented example names bucket and path, with its own token and with a real one',
    run: () => all([seedUrl, supabaseUrl()]),
    equals: [seen, seen],
  },
  {
    id: 'SU-01a',
    claim: 'the other hosts and the picture endpoint of the same project name the same object',
    run: () =>
      all([
        supabaseUrl({ host: 'xxx.storage.supabase.co' }),
        supabaseUrl({ path: '/storage/v1/render/image/sign/agent-files/agent-inputs/u/t/r/img.jpg' }),
        seedUrl.replace('xxx.supabase.co', 'XXX.supabase.co:443'),
        `${seedUrl}&download=&cacheNonce=1`,
      ]),
    equals: [seen, seen, seen, seen],
  },
  {
    id: 'SU-02',
    claim: 'only https, but for our own origin',
    run: () =>
      all([
        seedUrl.replace('https:', 'http:'),
        seedUrl.replace('https:', 'ftp:'),
        'javascript:alert(1)',
        'file:///etc/passwd',
      ]),
    equals: ['SU_SCHEME', 'SU_SCHEME', 'SU_SCHEME', 'SU_SCHEME'],
  },
  {
    id: 'SU-03',
    claim: 'a host is one of the list, letter for letter',
    run: () =>
      codes([
        supabaseUrl({ host: 'xxx.supabase.co.evil.test' }),
        supabaseUrl({ host: 'evilsupabase.co' }),
        supabaseUrl({ host: 'xxx.supabase.co.' }),
        supabaseUrl({ host: 'xxx.supabase.co:8443' }),
        supabaseUrl({ host: 'xxx.supabase.c%6f' }),
        supabaseUrl({ host: 'yyy.supabase.co' }),
        supabaseUrl({ host: 'xxx。supabase。co' }),
      ]),
    equals: ['SU_HOST'],
  },
  {
    id: 'SU-04',
    claim: 'no user name and no password',
    run: () => codes([supabaseUrl({ host: 'user:pw@xxx.supabase.co' }), supabaseUrl({ host: '@xxx.supabase.co' })]),
    equals: ['SU_CREDENTIALS'],
  },
  {
    id: 'SU-05',
    claim: 'a step up is refused and never read as another bucket',
    run: () =>
      codes([
        bySign('agent-files/../secret/x'),
        bySign('agent-files\\..\\secret/x'),
        bySign('agent-files/./agent-inputs/x'),
      ]),
    equals: ['SU_TRAVERSAL'],
  },
  {
    id: 'SU-06',
    claim: 'encoded steps, separators, ends and double encodings are refused',
    run: () =>
      all(
        [
          'agent-files/%2e%2e%2fsecret/x',
          'agent-files/..%5csecret/x',
          'agent-files/%252e%252e/secret/x',
          'agent-files/agent-inputs/a%00.jpg',
          'agent-files/agent-inputs%2fimg.jpg',
          'agent-files/agent-inputs/%25zz',
          'agent-files/agent-inputs/%zz',
          'agent-files//agent-inputs/img.jpg',
          'agent-files/agent-inputs/im\tg.jpg',
          'agent-files/agent-inputs/im g.jpg',
        ].map(bySign),
      ),
    equals: [
      'SU_TRAVERSAL',
      'SU_TRAVERSAL',
      'SU_TRAVERSAL',
      'SU_PATH_ENCODING',
      'SU_PATH_ENCODING',
      'SU_PATH_ENCODING',
      'SU_PATH_ENCODING',
      'SU_PATH_ENCODING',
      'SU_PATH_ENCODING',
      'SU_PATH_ENCODING',
    ],
  },
  {
    id: 'SU-07',
    claim: 'only the endpoint of signed downloads',
    run: () =>
      codes(
        ['public', 'upload/sign', 'authenticated', 'info/sign', 'sign']
          .map((kind) => `/storage/v1/object/${kind}/agent-files/agent-inputs/img.jpg`)
          .map((path) => (path.includes('/object/sign/') ? '/storage/v1/object/sign/agent-files' : path))
          .map((path) => supabaseUrl({ path })),
      ),
    equals: ['SU_FORM'],
  },
  {
    id: 'SU-08',
    claim: 'a bucket that is not ours',
    run: () => codes([bySign('other-files/agent-inputs/img.jpg'), bySign('agent-inbox/agent-inputs/u/t/r/img.jpg')]),
    equals: ['SU_BUCKET'],
  },
  {
    id: 'SU-09',
    claim: 'a prefix ends with its slash',
    run: () =>
      codes([
        bySign('agent-files/agent-inputs-evil/x'),
        bySign('agent-files/agent-inputs'),
        bySign(`agent-files/agent-inputs/${'a'.repeat(1100)}`),
      ]),
    equals: ['SU_PREFIX'],
  },
  {
    id: 'SU-10',
    claim: 'a token that speaks of another object',
    run: () =>
      codes([
        supabaseUrl({ claims: { url: 'agent-files/agent-inputs/other.jpg' } }),
        supabaseUrl({ claims: { url: undefined } }),
      ]),
    equals: ['SU_TOKEN_MISMATCH'],
  },
  {
    id: 'SU-11',
    claim: 'a token for writing',
    run: () => codes([supabaseUrl({ claims: { scope: 'upload' } }), supabaseUrl({ claims: { upsert: false } })]),
    equals: ['SU_SCOPE'],
  },
  {
    id: 'SU-11a',
    claim: 'a token that cannot be read',
    run: () =>
      codes([
        seedUrl.replace('token=xxx', 'token=a.b.c'),
        seedUrl.replace('token=xxx', ''),
        seedUrl.replace('token=xxx', 'token='),
      ]),
    equals: ['SU_TOKEN_MALFORMED'],
  },
  {
    id: 'SU-12',
    claim: 'an expired token for an object of theirs is taken, and the handle for it is new',
    run: async () => {
      const { desk, rows } = await ownedScene()
      const url = await supabaseUrl({ claims: { exp: nowMs / 1000 - 3600 } })
      const outcome = await desk.claim(url, { principal: 'person:ann', threadId: null })
      const [descriptor] = await rows.byAddress(seedObject)
      if (descriptor === undefined) throw new Error('no descriptor')
      const fresh = await desk.handle(descriptor, { kind: 'person', principal: 'person:ann' })
      return [outcomeOf(outcome), fresh.url !== url, (await desk.redeem(fresh.url)).kind]
    },
    equals: [seen, true, 'redeemed'],
  },
  {
    id: 'SU-13',
    claim: 'a valid token for an object of somebody else, or of theirs in another thread',
    run: async () => [
      await claimed(await supabaseUrl(), bob),
      await claimed(await supabaseUrl(), { principal: 'person:ann', threadId: 'thread-9' }),
    ],
    equals: ['SU_OWNER', 'SU_OWNER'],
    differs:
      'rows of another tenant are not looked at, so its object is SU_UNKNOWN_OBJECT; SU_OWNER is another person here',
  },
  {
    id: 'SU-14',
    claim: 'a valid token for an object we have no record of; an expired one says so',
    run: async () => {
      const { desk } = openScene()
      const by = { principal: 'person:ann', threadId: null }
      const expired = await supabaseUrl({ claims: { exp: nowMs / 1000 - 1 } })
      return [outcomeOf(await desk.claim(await supabaseUrl(), by)), outcomeOf(await desk.claim(expired, by))]
    },
    equals: ['SU_UNKNOWN_OBJECT', 'SU_EXPIRED'],
  },
  {
    id: 'SU-14a',
    claim: 'an object of theirs that was blocked or deleted',
    run: async () => {
      const { desk, rows } = await ownedScene()
      const [descriptor] = await rows.byAddress(seedObject)
      const outcomes: string[] = []
      for (const status of ['blocked', 'deleted'] as const) {
        rows.change(descriptor?.id ?? '', { status })
        outcomes.push(outcomeOf(await desk.claim(seedUrl, { principal: 'person:ann', threadId: null })))
      }
      return outcomes
    },
    equals: ['SU_BLOCKED', 'SU_BLOCKED'],
  },
  {
    id: 'SU-15',
    claim: 'a parameter that matters, twice',
    run: async () => {
      const url = await supabaseUrl()
      const place = 'https://s3.eu-central-1.amazonaws.com/agent-inbox/agent-inputs/u/t/r/img.jpg'
      return codes([
        `${url}&token=${await supabaseToken()}`,
        `${url}&%74oken=x`,
        `${s3Url(place)}&X-Amz-Signature=${'cd'.repeat(32)}`,
        `${s3Url(place)}&x-amz-date=20261117T115900Z`,
      ])
    },
    equals: ['SU_DUP_PARAM'],
  },
  {
    id: 'SU-16',
    claim: 'both styles of S3 name one object',
    run: () =>
      all([
        s3Url('https://agent-inbox.s3.eu-central-1.amazonaws.com/agent-inputs/u/t/r/img.jpg'),
        s3Url('https://s3.eu-central-1.amazonaws.com/agent-inbox/agent-inputs/u/t/r/img.jpg'),
      ]),
    equals: [atS3, atS3],
  },
  {
    id: 'SU-17',
    claim: 'a signature that claims more than a week, nothing, or is not complete',
    run: async () => {
      const place = 'https://s3.eu-central-1.amazonaws.com/agent-inbox/agent-inputs/u/t/r/img.jpg'
      const malformed = [
        { 'X-Amz-Expires': '604801' },
        { 'X-Amz-Expires': '0' },
        { 'X-Amz-Expires': '-1' },
        { 'X-Amz-Algorithm': 'AWS4-HMAC-SHA1' },
        { 'X-Amz-Credential': 'AKIDEXAMPLE' },
        { 'X-Amz-Date': '20261340T000000Z' },
        { 'X-Amz-SignedHeaders': 'range' },
        { 'X-Amz-Signature': 'short' },
      ]
      return [
        ...(await codes(malformed.map((changes) => s3Url(place, changes)))),
        ...(await all([
          place,
          s3Url(place, { 'x-id': 'PutObject' }),
          s3Url(place, { uploadId: 'x' }),
          s3Url(place, { 'X-Amz-Expires': '604800' }),
        ])),
      ]
    },
    equals: ['SU_TOKEN_MALFORMED', 'SU_FORM', 'SU_SCOPE', 'SU_SCOPE', atS3],
  },
  {
    id: 'SU-18',
    claim: "R2's own domains carry no signature of ours; its S3 host does",
    run: () =>
      all([
        s3Url('https://files.example.com/agent-inputs/u/t/r/img.jpg'),
        s3Url('https://pub-1.r2.dev/agent-inputs/u/t/r/img.jpg'),
        s3Url('https://acc.r2.cloudflarestorage.com/agent-r2/agent-inputs/u/t/r/img.jpg'),
        s3Url('https://agent-r2.acc.r2.cloudflarestorage.com/agent-inputs/u/t/r/img.jpg'),
        s3Url('https://s3.dualstack.eu-central-1.amazonaws.com/agent-inbox/agent-inputs/u/t/r/img.jpg'),
        s3Url('https://agent-inbox.s3-accelerate.amazonaws.com/agent-inputs/u/t/r/img.jpg'),
      ]),
    equals: ['SU_HOST', 'SU_HOST', 'SU_UNKNOWN_OBJECT', 'SU_UNKNOWN_OBJECT', 'SU_HOST', 'SU_HOST'],
  },
]
