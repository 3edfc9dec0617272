// Issuers as an operator writes them down: every problem at the start, and nothing wider than it looks.
import { expect, test } from 'vitest'
import { aguiChannel } from '../../../../adapters/agui/index.ts'
import { type Environment, loadConfig } from '../../../../src/config.ts'

const issuer = 'https://login.example.com/realms/one'
const audience = 'https://gateway.example'
const asked = { introspectionUrl: `${issuer}/introspect`, clientId: 'gateway', clientSecret: 'top secret' }

// biome-ignore lint/suspicious/noExplicitAny: what an operator may write is what is tested.
const load = (tokenIssuers: readonly any[], env: Environment = {}) =>
  loadConfig(env, { tokenIssuers }, [aguiChannel]).tokenIssuers
const problem = (tokenIssuers: readonly unknown[], env: Environment = {}): string => {
  try {
    load(tokenIssuers, env)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return 'none'
}

test('what is left out is the careful choice', () => {
  expect(load([{ issuer, audience }]).jwt).toEqual([
    {
      issuer,
      audience: [audience],
      scopes: {},
      subjectPrefix: 'iss:login.example.com/realms/one/',
      algorithms: ['EdDSA', 'ES256', 'RS256', 'PS256'],
      typ: ['at+jwt'],
      maxLifetimeSeconds: 3600,
      oneShot: false,
      proves: 'agent',
    },
  ])
  const { introspected } = load([{ issuer, audience, ...asked }])
  expect(introspected).toMatchObject({ issuer, cacheSeconds: 30, clientId: 'gateway' })
  expect(JSON.stringify(introspected)).not.toContain('top secret')
})

test.each([
  ['no audience anywhere', [{ issuer }], /audience is missing; set it, or PARLEY_PUBLIC_URL/],
  [
    'http elsewhere',
    [{ issuer: 'http://login.example.com', audience }],
    /tokenIssuers\.0\.issuer must be an https URL/,
  ],
  ['no URL', [{ issuer: 'login', audience }], /tokenIssuers\.0\.issuer must be an https URL/],
  [
    'a password in it',
    [{ issuer, audience, jwksUrl: 'https://a:b@login.example.com/keys' }],
    /tokenIssuers\.0\.jwksUrl/,
  ],
  [
    'a secret both sides know',
    [{ issuer, audience, algorithms: ['HS256'] }],
    /must be among EdDSA, ES256, RS256, PS256/,
  ],
  ['no signature', [{ issuer, audience, algorithms: ['none'] }], /must be among/],
  ['no algorithm', [{ issuer, audience, algorithms: [] }], /tokenIssuers\.0\.algorithms/],
  ['every audience', [{ issuer, audience: '*' }], /names one audience exactly/],
  ['a life of a week', [{ issuer, audience, maxLifetimeSeconds: 604_800 }], /maxLifetimeSeconds/],
  ['our own namespace', [{ issuer, audience, subjectPrefix: 'gw:user/' }], /must not be of our own namespace/],
  ['an open prefix', [{ issuer, audience, subjectPrefix: 'people:team' }], /must end in/],
  ['no secret', [{ issuer, audience, introspectionUrl: issuer, clientId: 'x' }], /tokenIssuers\.0\.clientSecret/],
  ['a misspelt field', [{ issuer, audience, oneshot: true }], /tokenIssuers\.0 .*oneshot/],
  [
    'one twice',
    [
      { issuer, audience },
      { issuer, audience },
    ],
    /is there twice/,
  ],
  [
    'two to be asked',
    [
      { issuer, audience, ...asked },
      { issuer: 'https://b.example', audience, ...asked },
    ],
    /only one/,
  ],
  [
    'one inside another',
    [
      { issuer, audience },
      { issuer: `${issuer}/two`, audience },
    ],
    /could pass for people of the other/,
  ],
])('%s stops the start', (_name, tokenIssuers, expected) => {
  expect(problem(tokenIssuers)).toMatch(expected)
})

test('all problems are told at once', () => {
  const told = problem([{ issuer: 'x', audience: '*', typ: [] }], { PARLEY_INTROSPECTION_URL: 'https://x.example' })
  expect(told).toMatch(/has 6 problem\(s\)/)
})

test('http is for this machine, and a public address can say what tokens are made out to', () => {
  expect(problem([{ issuer: 'http://127.0.0.1:9000', audience }])).toBe('none')
  expect(problem([{ issuer }], { PARLEY_PUBLIC_URL: 'https://gateway.example' })).toBe('none')
})

test('variables are enough for one issuer of each kind; half of a set stops the start', () => {
  const { jwt, introspected } = load([], {
    PARLEY_JWT_ISSUER: issuer,
    PARLEY_JWT_AUDIENCE: `${audience}, https://gateway.example/{agent}`,
    PARLEY_JWT_JWKS_URL: `${issuer}/keys`,
    PARLEY_JWT_TYP: 'JWT',
    PARLEY_INTROSPECTION_ISSUER: issuer,
    PARLEY_INTROSPECTION_AUDIENCE: audience,
    PARLEY_INTROSPECTION_URL: asked.introspectionUrl,
    PARLEY_INTROSPECTION_CLIENT_ID: 'gateway',
    PARLEY_INTROSPECTION_CLIENT_SECRET: 'top secret',
  })
  expect(jwt).toMatchObject([{ audience: [audience, 'https://gateway.example/{agent}'], typ: ['JWT'] }])
  expect(introspected?.clientSecret.reveal()).toBe('top secret')
  expect(problem([], { PARLEY_JWT_AUDIENCE: audience })).toMatch(/PARLEY_JWT_ISSUER is missing; set it, or unset/)
  expect(problem([], { PARLEY_INTROSPECTION_URL: issuer })).toMatch(/PARLEY_INTROSPECTION_CLIENT_SECRET is missing/)
})
