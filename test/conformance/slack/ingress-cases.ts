// Slack ingress, as far as the adapter alone decides: signatures, times, media types and handshakes.
import { fixtures } from '../../fixtures/slack/index.ts'
import type { Case } from '../conform.ts'
import { adapterWith, bytesOf, envelope, kit, message, now, receive, signedAs } from './slack-setup.ts'

const rejected = { kind: 'rejected' }
const form = 'application/x-www-form-urlencoded'
const click = { type: 'block_actions', user: { id: 'U0ADA0001' }, team: { id: 'T0PARLEY1' }, actions: [] }
const check = (body: string) =>
  adapterWith().receive(
    {
      bytes: bytesOf(body),
      headers: { 'content-type': form },
      receivedAt: new Date(now).toISOString(),
      from: 'remote',
    },
    kit.connection,
  )

async function withSignature(change: (signature: string) => string | undefined) {
  const arrival = await fixtures.sign(bytesOf(message()))
  const { 'x-slack-signature': signature = '', ...headers } = arrival.headers
  const changed = change(signature)
  const all = changed === undefined ? headers : { ...headers, 'x-slack-signature': changed }
  return adapterWith().receive({ ...arrival, headers: all }, kit.connection)
}

const atTime = async (time: string) => adapterWith().receive(await signedAs(time), kit.connection)

const signatureCases: readonly Case[] = [
  {
    id: 'S02',
    claim: 'a time 299 s ago is taken',
    run: () => receive(message(), { at: now - 299_000 }),
    expected: { kind: 'read' },
  },
  {
    id: 'S02b',
    claim: 'a time 301 s ago is not',
    run: () => receive(message(), { at: now - 301_000 }),
    equals: { kind: 'rejected', reason: 'stale_timestamp' },
  },
  {
    id: 'S03',
    claim: 'a time 301 s ahead is not taken, however well signed',
    run: () => receive(message(), { at: now + 301_000 }),
    equals: { kind: 'rejected', reason: 'future_timestamp' },
  },
  {
    id: 'S04',
    claim: 'a time that is none is refused although it is signed as it stands',
    run: () => Promise.all(['', 'undefined', 'abc', '1e9', '-1763300000', '17633000001763300000'].map(atTime)),
    expected: Array.from({ length: 6 }, () => rejected),
  },
  {
    id: 'S05',
    claim: 'a signature in any other form is refused, and nothing is thrown',
    run: () =>
      Promise.all([
        withSignature(() => undefined),
        withSignature(() => ''),
        withSignature((signature) => signature.replace('v0=', 'v1=')),
        withSignature((signature) => `v0=${signature.slice(3).toUpperCase()}`),
        withSignature((signature) => signature.slice(0, -1)),
        withSignature((signature) => `${signature}=x`),
      ]),
    expected: Array.from({ length: 6 }, () => rejected),
  },
  {
    id: 'S06',
    claim: 'the raw bytes are signed, whatever they hold; the same JSON written otherwise is refused',
    async run() {
      const arrival = await fixtures.sign(bytesOf(message({ text: 'é 🙂 \u2028' })))
      const again = bytesOf(`${JSON.stringify(message({ text: 'é 🙂 \u2028' }))} `)
      const adapter = adapterWith()
      return [
        await adapter.receive(arrival, kit.connection),
        await adapter.receive({ ...arrival, bytes: again }, kit.connection),
      ]
    },
    expected: [{ kind: 'read' }, { kind: 'rejected', reason: 'bad_signature' }],
  },
  {
    id: 'S15',
    claim: 'of two secrets either is taken',
    run: () => {
      const both = adapterWith({ signingSecret: ['a-new-signing-secret-0001', fixtures.secrets.signingSecret] })
      const secrets = ['a-new-signing-secret-0001', fixtures.secrets.signingSecret, 'some-other-secret-0002']
      return Promise.all(secrets.map((secret) => receive(message(), { secret }, both)))
    },
    expected: [{ kind: 'read' }, { kind: 'read' }, rejected],
    differs: 'which secret it was is not said: nothing but the operator’s rotation would use it',
  },
]

const shapeCases: readonly Case[] = [
  {
    id: 'S08',
    claim: 'a media type is compared up to its parameters and in any case',
    run: () =>
      Promise.all(['application/json; charset=utf-8', 'Application/JSON'].map((type) => receive(message(), { type }))),
    expected: [{ kind: 'read' }, { kind: 'read' }],
  },
  {
    id: 'S09',
    claim: 'a form with a payload and a charset is an interaction',
    run: () => receive(`payload=${encodeURIComponent(JSON.stringify(click))}`, { type: `${form}; charset=utf-8` }),
    expected: { kind: 'read', events: [{ kind: 'ignored', reason: 'not_our_button' }] },
  },
  {
    id: 'S10',
    claim: 'a signed url_verification is answered with its challenge, as JSON; an unsigned one is refused',
    run: async () => {
      const challenge = { type: 'url_verification', challenge: '<script>alert(1)</script>' }
      return [await receive(challenge), await receive(challenge, { key: 'wrong' })]
    },
    expected: [
      {
        kind: 'handshake',
        answer: { headers: { 'content-type': 'application/json; charset=utf-8', 'x-content-type-options': 'nosniff' } },
      },
      rejected,
    ],
  },
  {
    id: 'S11',
    claim: 'a certificate check is answered with nothing, whatever else it holds; one that is none needs a signature',
    run: () =>
      Promise.all([
        check('ssl_check=1&token=x'),
        check(`ssl_check=1&payload=${encodeURIComponent(JSON.stringify(click))}`),
        check('ssl_check=0&token=x'),
      ]),
    equals: [
      { kind: 'handshake', answer: { status: 200, body: '' } },
      { kind: 'handshake', answer: { status: 200, body: '' } },
      { kind: 'rejected', reason: 'missing_credential' },
    ],
  },
  {
    id: 'S12',
    claim: 'app_rate_limited opens no conversation and is kept with its reason',
    run: () =>
      receive({
        type: 'app_rate_limited',
        team_id: 'T0PARLEY1',
        minute_rate_limited: 1_763_300_000,
        api_app_id: 'A0PARLEY1',
      }),
    expected: { kind: 'read', events: [{ kind: 'ignored', reason: 'app_rate_limited', isNoise: false }] },
  },
  {
    id: 'S13',
    claim: 'a signed body that is no JSON is kept as unreadable',
    run: () => receive('{"not json'),
    expected: { kind: 'unreadable', reason: 'invalid_json' },
    differs: 'it is kept and answered 200, because delivering it again would change nothing',
  },
  {
    id: 'S14',
    claim: 'an unknown outer type is ignored, and counted by its reason',
    run: () => receive(envelope({}, { type: 'something_new' })),
    expected: { kind: 'read', events: [{ kind: 'ignored', reason: 'unsupported_type', isNoise: false }] },
  },
]

export const ingressCases: readonly Case[] = [...signatureCases, ...shapeCases]
