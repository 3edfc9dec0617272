// What is a message, what is put right, what is refused.
import { createHash } from 'node:crypto'
import { toPromptParts } from '../../../src/contract/parts.ts'
import { type ValidationScope, validateMessage } from '../../../src/contract/validate-message.ts'
import { createAccessPolicy } from '../../../src/identity/access-policy.ts'
import { sanitizeMessage } from '../../../src/inbound/accept.ts'
import { redactRaw } from '../../../src/inbound/stored-copy.ts'
import { assertDigest } from '../../../src/lib/index.ts'
import { branchingViolations } from '../../architecture/expression-rules.ts'
import { accessScene } from '../../doubles/access-context.ts'
import { aMessage } from '../../doubles/inbox-drafts.ts'
import { type Case, refusal } from '../conform.ts'

const scope: ValidationScope = { from: 'adapter', receivedVia: new Set(['test']), authMethods: new Set(['test']) }
const validated = (change: object, from: ValidationScope = scope) => validateMessage({ ...aMessage(), ...change }, from)
const sender = (change: object) => ({ sender: { ...aMessage().sender, ...change } })
const relay = (mention_relay: unknown) => ({ recipient_capabilities: { mention_relay } })
const text = { kind: 'text', mime: 'text/plain', content: 'hello' } as const
const turn = (timestamp: string) => ({ role: 'user', sender: aMessage().sender, parts: [text], timestamp })

export const messageCases: readonly Case[] = [
  {
    id: 'NM-01',
    claim: 'a message says something',
    run: () => validated({ parts: [] }),
    expected: { code: 'NM_PARTS_EMPTY' },
  },
  {
    id: 'NM-02',
    claim: 'a message says how mentions travel',
    run: () => validated({ recipient_capabilities: undefined }),
    expected: { code: 'NM_CAPABILITIES_MISSING' },
  },
  {
    id: 'NM-03',
    claim: 'addressing is always inline as well',
    run: () => validated(relay({ kind: 'addressing', envelope_fields: ['to'], also_inline: false })),
    expected: { code: 'NM_RELAY_INVALID' },
  },
  {
    id: 'NM-04',
    claim: 'nobody is verified by no method',
    run: () => validated(sender({ auth_method: 'none' })),
    expected: { code: 'NM_AUTH_INCONSISTENT' },
  },
  {
    id: 'NM-05',
    claim: 'nobody is verified without evidence',
    run: () => validated(sender({ identities: undefined })),
    expected: { code: 'NM_AUTH_INCONSISTENT' },
  },
  {
    id: 'NM-06',
    claim: 'text is plain, Markdown or HTML',
    run: () => validated({ parts: [{ ...text, mime: 'text/rtf' }] }),
    expected: { code: 'NM_TEXT_MIME' },
  },
  {
    id: 'NM-07',
    claim: 'bytes are fetched by https',
    run: () => validated({ parts: [{ kind: 'file', bytes_ref: { kind: 'url', url: 'http://x.example/a' } }] }),
    expected: { code: 'NM_BYTESREF_INVALID' },
  },
  {
    id: 'NM-08',
    claim: 'bytes that are not what their digest says are an error',
    run: async () => {
      const digest = createHash('sha256').update('content').digest('hex')
      const reference = { kind: 'content_addressed', algo: 'sha256', digest } as const
      const told = await refusal(() => assertDigest(reference, new TextEncoder().encode('Content')))
      return told.includes('digest')
    },
    equals: true,
  },
  {
    id: 'NM-09',
    claim: 'a kind nobody knows is kept, and named to the model',
    run: () => {
      const kept = validated({ parts: [{ kind: 'sticker', emoji: 'x' }] })
      return kept.ok ? [kept.message.parts, toPromptParts(kept.message.parts)] : kept
    },
    equals: [
      [{ kind: 'sticker', emoji: 'x' }],
      [{ kind: 'text', mime: 'text/plain', content: '[unsupported content: sticker]' }],
    ],
  },
  {
    id: 'NM-10',
    claim: 'a bare policy part is wrapped',
    run: () => validated({ parts: [{ kind: 'forbidden', message: 'no' }] }),
    expected: { message: { parts: [{ kind: 'policy', policy: { kind: 'forbidden', message: 'no' } }] } },
  },
  {
    id: 'NM-11',
    claim: 'history out of order is sorted, with a warning',
    run: () => validated({ history: [turn('2026-11-16T10:00:00Z'), turn('2026-11-16T09:00:00Z')] }),
    expected: {
      warnings: ['NM_HISTORY_ORDER'],
      message: { history: [{ timestamp: '2026-11-16T09:00:00Z' }, { timestamp: '2026-11-16T10:00:00Z' }] },
    },
  },
  {
    id: 'NM-12',
    claim: 'the time of receipt is ours, in UTC',
    run: () => validated({ received_at: '2026-11-16T21:00:00+09:00' }),
    expected: { code: 'NM_TIME_INVALID' },
  },
  {
    id: 'NM-13',
    claim: 'a stored message of another transport can be read',
    run: () => validated({ received_via: 'rest' }, { from: 'storage' }),
    expected: { ok: true },
  },
  {
    id: 'NM-14',
    claim: 'code that decides by received_via is found',
    run: () => branchingViolations(new Map([['src/agents/x.ts', "if (m.received_via === 'a') go()"]])),
    expected: [{ rule: 'no-branching-on-received-via' }],
  },
  {
    id: 'NM-15',
    claim: 'a profile that names an allowed subject opens nothing',
    run: () => {
      const { identities: _none, ...bare } = aMessage().sender
      const profile = { provider_subject: 'test:alice' }
      const spoof = { ...bare, profile, auth_method: 'none', verified: false } as const
      return createAccessPolicy().decide(spoof, accessScene({ rule: { mode: 'allow_list', allow: ['test:alice'] } }))
    },
    equals: { kind: 'refused', reason: 'no_evidence', rule: 'allow_list' },
  },
  {
    id: 'NM-16',
    claim: 'a name cannot turn the text around it',
    run: () => validated(sender({ display_name: '\u202eexe.cod' })),
    expected: { message: { sender: { display_name: 'exe.cod' } } },
  },
  {
    id: 'NM-17',
    claim: 'a bearer token in the payload is not kept',
    run: () => {
      const kept = redactRaw({ headers: { authorization: 'Bearer canary-canary' }, note: 'bearer canary-canary' })
      return JSON.stringify(kept).includes('canary')
    },
    equals: false,
  },
  {
    id: 'NM-18',
    claim: 'a script in HTML is gone before it is stored',
    run: () =>
      sanitizeMessage(
        aMessage({ parts: [{ kind: 'text', mime: 'text/html', content: '<p>hi<script>x()</script></p>' }] }),
      ).parts,
    equals: [{ kind: 'text', mime: 'text/html', content: '<p>hi</p>' }],
  },
]
