// A gateway that forwards to an agent elsewhere is a connector: it says who speaks in evidence that it signs, and the other
// side believes it as far as its operator trusts that gateway, about people and about what their channel can do.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createLocalJWKSet, flattenedVerify } from 'jose'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { A2aAgentOptions } from '../../adapters/a2a/client/options.ts'
import { a2aAgent } from '../../adapters/a2a/client/remote-agent.ts'
import { a2a, a2aChannel } from '../../adapters/a2a/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import type { AttestationVerifier, TrustedIssuer } from '../../src/identity/trust.ts'
import { canonicalJson } from '../../src/lib/index.ts'
import type { JsonObject } from '../../src/lib/json-value.ts'
import { createObedientAgent, type ObedientAgent } from '../doubles/a2a-agent.ts'
import { aMessage, type Body } from '../doubles/a2a-peer.ts'
import { type AtWork, putToWork } from '../doubles/background-gateway.ts'
import { createTestApp } from '../doubles/test-app.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const issuer = 'parley.localhost'
const audience = '@demo@parley.localhost'
const trust: TrustedIssuer = {
  issuer,
  methods: ['urn:gw:auth:loopback:v0.1'],
  assurance: ['platform'],
  subject_prefixes: ['loopback:'],
}
const sealKeys = async () => [new Uint8Array(32).fill(7)]

/** As section 7 of the profile has it, with the keys of the card. */
const verifierWith = (readCard: () => Promise<Body>): AttestationVerifier => ({
  async verify(carried, { messageId }) {
    const { proof, ...said } = carried as Body
    const { value, ...head } = proof
    const [protectedHeader, signature] = String(value).split('..')
    const payload = Buffer.from(canonicalJson({ ...said, proof: head })).toString('base64url')
    const keys = createLocalJWKSet({ keys: (await readCard()).keys.active })
    const verified = await flattenedVerify(
      { protected: protectedHeader ?? '', payload, signature: signature ?? '' },
      keys,
    ).catch(() => undefined)
    if (verified?.protectedHeader?.typ !== 'identity-evidence+jws') return 'EV_SIG_INVALID'
    if (!head.kid.startsWith(`${said.issuer}#`) || verified.protectedHeader.kid !== head.kid) return 'EV_SIG_KID'
    return said.claims.message_id === messageId ? undefined : 'EV_BINDING'
  },
})

describeOnDatabase('a gateway that forwards', (database) => {
  describeOnDatabase('to one with a database of its own', (other) => {
    let vendor: VendorStub
    let here: TestGateway
    let there: TestGateway
    let work: AtWork
    let obedient: ObedientAgent
    let server: Server
    let thereApp: ReturnType<typeof createTestApp>
    let hereApp: ReturnType<typeof createTestApp>

    beforeEach(async () => {
      vendor = await startVendorStub()
      obedient = createObedientAgent()
    })
    afterEach(async () => {
      here.stop()
      await work.stop()
      there.stop()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await vendor.close()
    })

    const start = async (trusted: readonly TrustedIssuer[], options: A2aAgentOptions): Promise<void> => {
      const attestations = verifierWith(async () => (await hereApp.request('/.well-known/adapter-card')).json())
      const config = {
        agents: [obedient.agent],
        connections: [a2a()],
        trustedIssuers: trusted,
        ports: { attestations },
      }
      there = createTestGateway(other(), config, { sealKeys }, [a2aChannel])
      thereApp = createTestApp(there, other())
      work = putToWork(there)
      const listener = getRequestListener(thereApp.fetch)
      server = createServer((incoming, outgoing) => void listener(incoming, outgoing))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a2a/demo`
      const agents = [defineAgent({ slug: 'far', model: a2aAgent(url, options) })]
      here = createTestGateway(database(), { agents, connections: loopbackConnections(vendor.origin) }, { sealKeys })
      hereApp = createTestApp(here, database())
    }
    const say = async () => {
      await here.deliver({ id: 'm1', from: 'ada', text: 'hello' })
      await settleUntil(here, () => vendor.messages.length > 0)
      return obedient.heard.at(-1)
    }

    test('tells the agent it was told to tell who speaks, and is believed by whoever trusts it', async () => {
      await start([trust], { vouchTo: audience })
      const heard = await say()
      expect(heard?.sender.dropped_evidence).toBeUndefined()
      expect(heard?.sender.identities?.at(-1)).toMatchObject({
        subject: 'loopback:ada',
        issuer,
        audience,
        assurance: 'platform',
        proof: { type: 'signed-attestation', alg: 'EdDSA' },
      })
      const card: Body = await (await hereApp.request('/.well-known/adapter-card')).json()
      expect(card).toMatchObject({ issuer, keys: { active: [{ crv: 'Ed25519', use: 'sig' }], previous: [] } })
      expect(JSON.stringify(card)).not.toContain('"d"')
    })

    test('is not believed by whoever does not trust it, and the message is answered all the same', async () => {
      await start([], { vouchTo: audience })
      const heard = await say()
      expect(heard?.sender.dropped_evidence).toEqual(['TR_UNTRUSTED_ISSUER'])
    })

    test('tells nobody who speaks unless it was told to', async () => {
      await start([trust], {})
      const heard = await say()
      expect(heard?.sender.dropped_evidence).toBeUndefined()
      expect(heard?.sender.identities?.map(({ subject }) => subject)).not.toContain('loopback:ada')
    })

    test('A2-05: is believed about its own channel where it is believed about people, and only there', async () => {
      await start([trust], { vouchTo: audience })
      const send = async (messageId: string, evidence: readonly JsonObject[], kind: string) => {
        const recipient_capabilities = { mention_relay: { kind } }
        const metadata = { mentionable: { identity_evidence: evidence, recipient_capabilities } }
        const params = { message: aMessage('hello', { messageId, metadata }) }
        await thereApp.request('/a2a/demo', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params }),
        })
        return obedient.heard.at(-1)?.recipient_capabilities.mention_relay.kind
      }
      const about = [{ subject: 'loopback:ada', method: 'urn:gw:auth:loopback:v0.1', assurance: 'platform' }] as Body
      const vouched = (messageId: string) => here.deps.attestor.attest(about, { audience, messageId })
      const [one = '', two = '', three = '', four = ''] = Array.from({ length: 4 }, () => crypto.randomUUID())
      expect(await send(one, await vouched(one), 'inline')).toBe('inline')
      expect(await send(two, await vouched(one), 'inline')).toBe('none')
      expect(await send(three, await vouched(three), 'no such thing')).toBe('none')
      expect(await send(four, [], 'inline')).toBe('none')
    })
  })
})
