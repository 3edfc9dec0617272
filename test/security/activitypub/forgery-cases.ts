// Requests that look like the victim's and are not, and what the gate says to each: judged there one by one, and posted to a whole
// gateway by journeys/activitypub-attacks.test.ts.
import type { RawRequest } from '../../../src/contract/index.ts'
import {
  createdNow,
  createNote,
  makePeer,
  peerNow,
  post,
  signCavage,
  signMessage,
  together,
} from '../../doubles/activitypub-peer.ts'

export type Forgery = readonly [what: string, arrival: RawRequest, verdict: string]

export const victim = makePeer('https://victim.example/users/victim')
export const mallory = makePeer('https://evil.example/users/mallory')
export const note = post(createNote(victim))
const other = post(createNote(victim, {}, { content: 'what the victim never wrote' }))
const seconds = peerNow / 1000

export const rewritten = (arrival: RawRequest, headers: Record<string, string>): RawRequest => ({
  ...arrival,
  headers: { ...arrival.headers, ...headers },
})
/** The signature of one request with the body of another, and whatever digest goes with that. */
const withBody = (arrival: RawRequest, { bytes, headers }: typeof other, names: readonly string[]): RawRequest => ({
  ...rewritten(arrival, Object.fromEntries(names.map((name) => [name, headers[name] ?? '']))),
  bytes,
})
const replaced = (arrival: RawRequest, header: string, from: string | RegExp, to: string): RawRequest =>
  rewritten(arrival, { [header]: (arrival.headers[header] ?? '').replace(from, to) })

const [old, modern] = [signCavage(note, victim), signMessage(note, victim)]
const uncovered = signMessage(note, victim, { components: ['@method', '@target-uri'] })
const evil = `keyId="${mallory.rsa.key.id}",`
const { digest: _, 'content-digest': __, ...undigested } = note.headers

/** What activitypub-express takes. */
export const expressTakes: readonly Forgery[] = [
  [
    'a signature over the date alone, without a digest',
    signCavage({ ...note, headers: undigested }, victim, { headers: 'date' }),
    'missing_digest',
  ],
  [
    'a signature over the date alone, beside a digest',
    signCavage(note, victim, { headers: 'date' }),
    'missing_coverage',
  ],
  [
    'everything signed, with the digest of another body',
    { ...signCavage(note, victim), bytes: other.bytes },
    'digest_mismatch',
  ],
]

/** What Fedify takes. */
export const fedifyTakes: readonly Forgery[] = [
  [
    'F1: another body under a signature without its digest',
    withBody(uncovered, other, ['digest', 'content-digest']),
    'missing_coverage',
  ],
  ['F2: a signature over nothing', signMessage(note, victim, { components: [] }), 'missing_coverage'],
  [
    'F4: no host among what is signed',
    signCavage(note, victim, { headers: '(request-target) date digest' }),
    'missing_coverage',
  ],
  [
    'F3: an end a thousand seconds ago',
    signMessage(note, victim, { params: `${createdNow};expires=${seconds - 1000}` }),
    'expired',
  ],
  [
    'F8: a note that is said to be by another of the same host',
    signCavage(post(createNote(victim, {}, { attributedTo: 'https://victim.example/users/admin' })), victim),
    'dropped',
  ],
  [
    'F9: an id of somebody else’s',
    signCavage(post(createNote(victim, { id: 'https://other.example/activities/1' })), victim),
    'foreign_activity_id',
  ],
]

/** A signature taken from one request is none for another. */
export const taken: readonly Forgery[] = [
  ['another body with its digest', withBody(old, other, ['digest', 'content-digest']), 'wrong_signature'],
  ['another body with its digest (RFC 9421)', withBody(modern, other, ['content-digest', 'digest']), 'wrong_signature'],
  ['another date', rewritten(old, { date: new Date(peerNow + 1000).toUTCString() }), 'wrong_signature'],
  ['another inbox', rewritten(old, { ':path': '/ap/other/inbox' }), 'wrong_signature'],
  ['another inbox (RFC 9421)', rewritten(modern, { ':path': '/ap/other/inbox' }), 'wrong_signature'],
  ['a query (RFC 9421)', rewritten(modern, { ':path': '/ap/concierge/inbox?a' }), 'wrong_signature'],
  ['a later beginning', replaced(modern, 'signature-input', createdNow, `created=${seconds + 1}`), 'wrong_signature'],
  ['fewer components', replaced(modern, 'signature-input', ' "content-digest"', ''), 'missing_coverage'],
  [
    'more components',
    replaced(modern, 'signature-input', '"content-digest"', '"content-digest" "date"'),
    'wrong_signature',
  ],
  [
    'a right digest beside a wrong one',
    rewritten(old, { 'content-digest': other.headers['content-digest'] ?? '' }),
    'digest_mismatch',
  ],
]

/** Headers made to be read in two ways. */
export const ambiguous: readonly Forgery[] = [
  ['a parameter twice', replaced(old, 'signature', /^/, evil), 'malformed_signature'],
  ['a quote in a quote', replaced(old, 'signature', 'keyId="', 'keyId="a\\",keyId="'), 'malformed_signature'],
  ['a header twice in the list', replaced(old, 'signature', 'host date', 'host host date'), 'malformed_signature'],
  ['nothing at all', rewritten(old, { signature: ' ' }), 'malformed_signature'],
  ['no signature in it', replaced(old, 'signature', /,signature=.*$/, ''), 'malformed_signature'],
  ['a signature of no bytes', replaced(old, 'signature', /signature="[^"]*"/, 'signature=""'), 'malformed_signature'],
  ['no key', replaced(old, 'signature', /keyId="[^"]*"/, 'keyId=""'), 'malformed_signature'],
  ['an algorithm that is none', replaced(old, 'signature', 'rsa-sha256', 'none'), 'unknown_algorithm'],
  ['a symmetric algorithm', replaced(old, 'signature', 'rsa-sha256', 'hmac-sha256'), 'unknown_algorithm'],
  [
    'what stands for the request as a header',
    replaced(old, 'signature', 'host date', 'host :path date'),
    'unknown_component',
  ],
  ['a name of every object', replaced(old, 'signature', 'host date', 'host __proto__ date'), 'unknown_component'],
  ['a header that is not there', replaced(old, 'signature', 'host date', 'host x-none date'), 'unknown_component'],
  [
    'its own time under an old algorithm',
    signCavage(note, victim, { headers: '(request-target) host (created) digest', created: seconds }),
    'unknown_component',
  ],
  [
    'its own end that is past',
    signCavage(note, victim, {
      algorithm: 'hs2019',
      headers: '(request-target) host (created) (expires) digest',
      created: seconds,
      expires: seconds - 1,
    }),
    'expired',
  ],
  [
    'its own time, in the future',
    signCavage(note, victim, {
      algorithm: 'hs2019',
      headers: '(request-target) host (created) digest',
      created: seconds + 4000,
    }),
    'from_the_future',
  ],
  ['no time at all', signCavage(note, victim, { headers: '(request-target) host digest' }), 'missing_coverage'],
]

/** The same by RFC 9421. */
export const ambiguousModern: readonly Forgery[] = [
  ['a component twice', replaced(modern, 'signature-input', '"@method"', '"@method" "@method"'), 'unknown_component'],
  [
    'a component with a parameter',
    replaced(modern, 'signature-input', '"content-digest"', '"content-digest";req'),
    'unknown_component',
  ],
  [
    'a component of an answer',
    replaced(modern, 'signature-input', '"@method"', '"@method" "@status"'),
    'unknown_component',
  ],
  ['a label without its signature', rewritten(modern, { signature: 'sig2=:YQ==:' }), 'malformed_signature'],
  ['a signature that is no bytes', rewritten(modern, { signature: 'sig1="YQ=="' }), 'malformed_signature'],
  ['no list', rewritten(modern, { 'signature-input': 'sig1=1' }), 'malformed_signature'],
  [
    'five labels',
    together(
      together(modern, replaced(modern, 'signature-input', 'sig1', 'a')),
      rewritten(modern, { 'signature-input': 'b=(),c=(),d=()' }),
    ),
    'malformed_signature',
  ],
]
