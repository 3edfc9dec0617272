// What follows a redirect and what stays at home, hop by hop; the network is a list of answers.
import { expect, test } from 'vitest'
import { createSafeFetch, type DialRequest } from '../../../src/lib/index.ts'

function scripted(answers: Readonly<Record<string, () => Response>>) {
  const dialled: DialRequest[] = []
  const guarded = createSafeFetch({
    pins: true,
    dial: async (request) => {
      dialled.push(request)
      const answer = answers[request.url.href]
      if (answer === undefined) throw new Error('nobody there')
      return answer()
    },
  })
  return { guarded, dialled }
}

const redirect = (location: string) => () => new Response(null, { status: 307, headers: { location } })

test('credentials go to the first host only, also when the way leads back', async () => {
  const { guarded, dialled } = scripted({
    'https://one.example/': redirect('https://two.example/'),
    'https://two.example/': redirect('https://one.example/end'),
    'https://one.example/end': () => new Response('arrived'),
  })
  const headers = { Authorization: 'Bearer secret', cookie: 'a=b', 'Proxy-Authorization': 'c', accept: 'image/png' }
  const outcome = await guarded.fetch('https://one.example/', { headers, maxRedirects: 3 })
  expect(outcome).toMatchObject({ kind: 'answered', url: 'https://one.example/end' })
  expect(dialled.map((each) => each.headers)).toEqual([headers, { accept: 'image/png' }, { accept: 'image/png' }])
})

test('a redirect without a readable target is refused, and an answer without a body has none', async () => {
  const { guarded } = scripted({
    'https://one.example/': redirect('https://['),
    'https://one.example/empty': () => new Response(null, { status: 204 }),
  })
  expect(await guarded.fetch('https://one.example/', { maxRedirects: 3 })).toEqual({
    kind: 'refused',
    reason: 'redirect',
  })
  const outcome = await guarded.fetch('https://one.example/empty')
  expect(outcome).toMatchObject({ kind: 'answered', response: { status: 204, body: null } })
})

test('nothing is dialled that was not judged', async () => {
  const { guarded, dialled } = scripted({})
  for (const url of ['http://one.example/', 'https://10.0.0.1/', 'https://one.example:1/', 'https://u:p@one.example/'])
    expect((await guarded.fetch(url)).kind).toBe('refused')
  expect(dialled).toEqual([])
})
