// Pages elsewhere reach the API only where the operator lists their origin, and never with what a browser knows of a person
// where everybody is let in.
import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/config.ts'
import { type Api, startApi } from '../../doubles/api.ts'
import { madeToken } from '../../doubles/tokens.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const app = 'https://app.example.org'

describeOnDatabase('a page elsewhere', (database) => {
  const withApi = async (corsOrigins: readonly string[], work: (api: Api) => Promise<void>) => {
    const api = startApi(database(), undefined, 30_000, {}, {}, { corsOrigins })
    try {
      await work(api)
    } finally {
      await api.stop()
    }
  }
  const preflight = (api: Api, path: string, origin: string) =>
    api.request(path, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } })
  const grantOf = ({ headers }: Response) => [
    headers.get('access-control-allow-origin'),
    headers.get('access-control-allow-credentials'),
  ]

  test('on the list is answered before it asks and when it asks, also with an error', async () => {
    await withApi([app], async (api) => {
      const before = await preflight(api, '/api/v1/agent/run', app)
      expect([before.status, ...grantOf(before)]).toEqual([204, app, 'true'])
      expect(before.headers.get('access-control-allow-headers')).toContain('authorization')
      expect(before.headers.get('vary')).toContain('origin')
      const { clear } = await madeToken(database(), { scopes: ['run'] })
      const { status, headers } = await api.run('r1', { token: clear, headers: { origin: app } })
      expect([status, headers.get('access-control-allow-origin')]).toEqual([200, app])
      const refused = await api.run('r2', { headers: { origin: app } })
      expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([403, app])
      expect(headers.get('access-control-expose-headers')).toContain('x-parley-trace')
    })
  })

  test('that is not on the list, or wants the operator’s routes, is granted nothing', async () => {
    await withApi([app], async (api) => {
      for (const origin of ['https://evil.example', 'null', `${app}.evil.example`])
        expect(grantOf(await preflight(api, '/api/v1/agent/run', origin))).toEqual([null, null])
      expect(grantOf(await preflight(api, '/admin/stats', app))).toEqual([null, null])
    })
    await withApi([], async (api) =>
      expect(grantOf(await preflight(api, '/api/v1/agent/run', app))).toEqual([null, null]),
    )
  })

  test('is granted no credentials where all are let in', async () => {
    await withApi(['*'], async (api) => {
      expect(grantOf(await preflight(api, '/api/v1/agent/run', 'https://anybody.example'))).toEqual(['*', null])
    })
  })
})

test.each(['app.example.org', 'https://app.example.org/path', '*, https://app.example.org'])(
  '%s is no list of origins',
  (given) => {
    expect(() => loadConfig({ PARLEY_CORS_ORIGINS: given }, {}, [])).toThrow(/PARLEY_CORS_ORIGINS/)
  },
)

test('a list of origins is read with blanks around it', () => {
  const { corsOrigins } = loadConfig({ PARLEY_CORS_ORIGINS: ` ${app} , http://localhost:3000` }, {}, [])
  expect(corsOrigins).toEqual([app, 'http://localhost:3000'])
})
