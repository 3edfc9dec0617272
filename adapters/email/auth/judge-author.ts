// Decides who is proven to have written a mail, in this order: signatures, the domain's policy, relays, the address it came from.
import type { MailResolver, Resolve } from '../dns.ts'
import { normalizeDomain } from '../wire/address.ts'
import type { Mailbox, MailHead, MailProof, MailRefusal, ReceivedMail } from '../wire/mail.ts'
import type { CheckedDmarc, CheckedMail, MailChecks } from './mail-checks.ts'
import { checkFreshnessAndRecipients, type Dated, mailArrivalTime } from './replay.ts'
import { cleanSignatureReason, judgeArcChain, judgeCheckedSignature, type Signature } from './signatures.ts'

export type Judging = {
  readonly mail: ReceivedMail
  readonly head: MailHead
  readonly from: Mailbox
  readonly settings: AuthSettings
  readonly dns: MailResolver
}

type JudgeOutcome = Pick<MailProof, 'standing' | 'method'> & {
  readonly signature?: Signature
  /** Hashes of all that a copy could be proven by. */
  readonly signatures?: readonly string[]
  /** What says how long a copy could be. */
  readonly dated?: readonly Dated[]
  readonly reasons: readonly string[]
}

/** Fields whose value means more when it is signed. */
const worthSigning = [
  'subject',
  'date',
  'to',
  'cc',
  'reply-to',
  'message-id',
  'in-reply-to',
  'references',
  'content-type',
  'content-transfer-encoding',
]

export async function authenticateAuthor(
  judging: Judging,
  raw: Uint8Array,
  library: MailChecks,
): Promise<MailProof | MailRefusal> {
  const { mail, from, settings, dns } = judging
  const resolve = dns.resolve
  const now = mailArrivalTime(mail)
  const checked = await library.checkSignatures(raw, {
    resolver: resolve,
    strict: true,
    minBitLength: settings.minRsaBits,
    curTime: new Date(now),
  })
  const signatures = checked.results.map((result) => judgeCheckedSignature(result, now))
  const told = signatures.map(({ reason }) => reason)
  if (!isSameParsedAuthor(checked, from))
    return buildProofAfterFreshnessCheck(judging, {
      standing: 'none',
      method: 'none',
      reasons: [...told, 'parser_disagreement'],
    })
  const passed = signatures.filter(({ result }) => result === 'pass')
  const policy = await library.checkDmarc(dmarcCheckInput(checked, passed, [], resolve))
  if (policy.response === false)
    return buildProofAfterFreshnessCheck(judging, {
      standing: 'none',
      method: 'none',
      reasons: [...told, `dmarc=skipped ${policy.reason}`],
    })
  if (policy.response.status.result === 'temperror') return dnsUnknownRefusal(dns)
  const authors = passed.filter((signature) => !signature.isCut && isAuthorSignature(signature, policy, from))
  if (authors.length > 0)
    return buildProofAfterFreshnessCheck(
      judging,
      verifiedAuthorOutcome(judging.head, { authors, all: signatures }, policy, told),
    )
  const chain = await judgeArcChain(library, checked, {
    resolve,
    sealers: new Set(settings.trustedSealers.map((domain) => domain.toLowerCase())),
    authorDomain: from.domain,
    now,
  })
  if (chain.kind === 'vouched') {
    return buildProofAfterFreshnessCheck(judging, {
      standing: 'verified',
      method: 'email-dmarc',
      signature: {
        ...chain.signature,
        signedAt: undefined,
        signedHeaders: fullySignedFieldNames(judging.head, [chain.signature]),
      },
      // The author's own, broken as it is by the relay: the relay saw it whole, and sees it again in a copy that goes through it.
      signatures: [...chain.signatures, ...alignedSignatureIds(signatures).map((each) => `relayed ${each}`)],
      // It signs anew whenever the mail goes through it: how old that is says the Date, if all who signed cover it.
      dated: [
        {
          signedAt: undefined,
          signedHeaders: commonSignedHeaders([chain.signature, ...signatures.filter(({ isKin }) => isKin)]),
        },
      ],
      reasons: [...told, chain.reason],
    })
  }
  const origin = await checkSpfOrigin(library, judging, resolve)
  const reasons = [...told, ...(chain.reason === undefined ? [] : [chain.reason]), origin.reason]
  const isOpen = signatures.some(({ result, isKin }) => result === 'unknown' && isKin) || origin.isOpen
  if (isOpen || (chain.reason?.startsWith('arc=fail') === true && dns.unknown().length > 0))
    return dnsUnknownRefusal(dns)
  const all = await library.checkDmarc(dmarcCheckInput(checked, passed, origin.domains, resolve))
  return buildProofAfterFreshnessCheck(judging, unverifiedAuthorOutcome(all, passed, origin, from, reasons))
}

/** The library must have read the same author as the scanner: one field, one address, one domain. */
function isSameParsedAuthor({ headerFrom, fromFields }: CheckedMail, from: Mailbox): boolean {
  const [address = ''] = headerFrom
  const at = address.lastIndexOf('@')
  const read = `${address.slice(0, at)}@${normalizeDomain(address.slice(at + 1)) ?? ''}`
  return fromFields === 1 && headerFrom.length === 1 && read === from.address
}

function dmarcCheckInput(
  checked: CheckedMail,
  passed: readonly Signature[],
  spfDomains: readonly string[],
  resolver: Resolve,
) {
  const dkimDomains = passed.map(({ hash, domain, isCut }) => ({ id: hash, domain, underSized: isCut ? 1 : 0 }))
  // Not strictly: a record with a slip in it still says that its domain wants to be protected.
  return {
    headerFrom: checked.headerFrom,
    fromFields: checked.fromFields,
    spfDomains,
    dkimDomains,
    resolver,
    strict: false,
  }
}

const dmarcResult = ({ response }: CheckedDmarc): string => (response === false ? 'none' : response.status.result)

/**
 * By the domain's own policy and by the public suffix list, whichever is narrower: under a suffix that publishes a policy its
 * customers are no kin. Without a policy a subdomain does not speak for the domain above it.
 */
function isAuthorSignature(signature: Signature, policy: CheckedDmarc, from: Mailbox): boolean {
  if (!signature.isKin) return false
  if (dmarcResult(policy) === 'pass')
    return policy.dkimAligned?.has(signature.domain) === true && isDmarcDomainOfAuthor(policy, from)
  return (
    dmarcResult(policy) === 'none' && (from.domain === signature.domain || from.domain.endsWith(`.${signature.domain}`))
  )
}

const isDmarcDomainOfAuthor = ({ response }: CheckedDmarc, from: Mailbox): boolean =>
  response !== false && response.status.header.from === from.domain

/** Each of the author's signatures vouches for its fields; which of them stands first is up to the server that hands the mail over. */
function verifiedAuthorOutcome(
  head: MailHead,
  { authors, all }: { readonly authors: readonly Signature[]; readonly all: readonly Signature[] },
  policy: CheckedDmarc,
  told: readonly string[],
): JudgeOutcome {
  const method = dmarcResult(policy) === 'pass' ? 'email-dmarc' : 'email-dkim'
  const [first] = authors
  const times = authors.flatMap((each) => each.signedAt ?? [])
  const signedAt = times.length === 0 ? undefined : Math.max(...times)
  const signedHeaders = fullySignedFieldNames(head, authors)
  const provable = all.filter(
    ({ result, reason }) => result !== 'fail' || mayPassLater.some((why) => reason.includes(why)),
  )
  return {
    standing: 'verified',
    method,
    ...(first === undefined ? {} : { signature: { ...first, signedAt, signedHeaders } }),
    signatures: alignedSignatureIds(provable),
    dated: provable.filter(({ isKin }) => isKin),
    reasons: [...told, policyReason(policy)],
  }
}

/**
 * Names of fields that one of the signatures covers as often as they stand in the mail: it covers the lowest of them (RFC 6376 5.4.2), and another
 * could be written above, where it is read first.
 */
function fullySignedFieldNames(head: MailHead, signatures: readonly Signature[]): readonly string[] {
  const standing = countFieldNames(head.fields.map(({ name }) => name))
  const whole = signatures.flatMap(({ signedHeaders }) => {
    const covered = [...countFieldNames(signedHeaders)]
    return covered.filter(([name, times]) => times >= (standing.get(name) ?? 0)).map(([name]) => name)
  })
  return [...new Set(whole)]
}

function countFieldNames(names: readonly string[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>()
  for (const name of names) times.set(name, (times.get(name) ?? 0) + 1)
  return times
}

/**
 * What a signature fails for that may pass in a copy, when there is room to hash the body, the key is no longer on trial or its time has
 * come: as plain() writes it. One whose key cannot be looked up now is no failure.
 */
const mayPassLater = ['body_not_hashed', 'testing_key', 'signed_in_the_future']

const commonSignedHeaders = (signatures: readonly Signature[]): readonly string[] =>
  signatures[0]?.signedHeaders.filter((name) => signatures.every((each) => each.signedHeaders.includes(name))) ?? []

/** With the name of the key: for a signature that is known another key can be made under which it signs another mail. */
const alignedSignatureIds = (signatures: readonly Signature[]): readonly string[] =>
  signatures
    .filter(({ isKin, hash }) => isKin && /^[0-9a-f]{64}$/.test(hash))
    .map(({ keyId, hash }) => `${keyId} ${hash}`)

function policyReason({ response }: CheckedDmarc): string {
  if (response === false || response.status.result === 'none') return 'dmarc=none'
  return `dmarc=${response.status.result} p=${response.policy ?? 'none'}`
}

/** No signature makes an author: something weaker, nothing, or a mail that the domain itself disowns. */
function unverifiedAuthorOutcome(
  policy: CheckedDmarc,
  passed: readonly Signature[],
  origin: Origin,
  from: Mailbox,
  told: readonly string[],
): JudgeOutcome {
  const reasons = [...told, policyReason(policy)]
  const cut = passed.find((signature) => signature.isCut && signature.isKin)
  if (dmarcResult(policy) === 'pass') {
    return cut === undefined
      ? { standing: 'weak', method: 'email-dmarc', reasons }
      : { standing: 'weak', method: 'email-dkim', signature: cut, reasons }
  }
  if (dmarcResult(policy) === 'none') {
    if (cut !== undefined) return { standing: 'weak', method: 'email-dkim', signature: cut, reasons }
    return { standing: origin.domains.includes(from.domain) ? 'weak' : 'none', method: 'none', reasons }
  }
  const p = policy.response === false ? 'none' : policy.response.policy
  return { standing: p === 'reject' || p === 'quarantine' ? 'spoofed' : 'none', method: 'none', reasons }
}

function buildProofAfterFreshnessCheck(
  { mail, head, from, settings }: Judging,
  { standing, method, signature, signatures = [], dated = [], reasons }: JudgeOutcome,
): MailProof | MailRefusal {
  const unnamed = new Set(settings.unnamedRecipients.map((address) => address.toLowerCase()))
  const checked =
    standing === 'verified' && signature !== undefined
      ? checkFreshnessAndRecipients(mail, head, { ...signature, all: dated }, unnamed)
      : undefined
  if (checked?.kind === 'refused') return checked.refusal
  const suspicion = checked?.kind === 'suspected' ? checked.reason : undefined
  const isAuthor = standing === 'verified' && suspicion === undefined
  const bare = signature === undefined ? [] : worthSigning.filter((name) => isUnsignedField(head, signature, name))
  return {
    standing: suspicion === undefined ? standing : 'weak',
    method,
    author: isAuthor ? from : undefined,
    keyId: signature?.keyId,
    signedHeaders: signature?.signedHeaders ?? [],
    reasons: [
      ...reasons,
      ...(bare.length === 0 ? [] : [`unsigned=${bare.join(',')}`]),
      ...(suspicion === undefined ? [] : [`replay_suspected ${suspicion}`]),
    ],
    signatures: isAuthor ? [...new Set(signatures)].toSorted() : [],
    ...(checked?.kind === 'fresh' ? { countsMs: checked.countsMs } : {}),
  }
}

const isUnsignedField = (head: MailHead, { signedHeaders }: Signature, name: string): boolean =>
  !signedHeaders.includes(name) && head.fields.some((field) => field.name === name)

const dnsUnknownRefusal = (dns: MailResolver): MailRefusal => ({
  kind: 'later',
  reason: `dns_unknown ${cleanSignatureReason(dns.unknown().at(-1) ?? '')}`.trim(),
  remedy: 'Send it again later: the name system did not tell who may send for this domain.',
})

// SPF: whether the client may send for the domain of the envelope. Says nothing of who wrote the mail.

type Origin = {
  /** Domains for which the server may send. */
  readonly domains: readonly string[]
  readonly reason: string
  /** Not known yet, and it could matter for this author. */
  readonly isOpen: boolean
}

const unknown: Origin = { domains: [], reason: 'spf=unknown', isOpen: false }

async function checkSpfOrigin(
  library: MailChecks,
  { mail, from }: { readonly mail: ReceivedMail; readonly from: Mailbox },
  resolver: Resolve,
): Promise<Origin> {
  const { clientIp, mailFrom, helo } = mail.envelope
  // A mail out of a mailbox: who handed it over is only what others wrote into it.
  if (clientIp === undefined || mailFrom === undefined) return unknown
  const spf = await library.checkSpf({
    ip: clientIp,
    helo: helo ?? `[${clientIp}]`,
    sender: mailFrom,
    mta: 'parley',
    resolver,
    strict: true,
  })
  const { result } = spf.status
  const domain = normalizeDomain(spf.domain ?? '')
  if (domain === undefined) return { ...unknown, reason: `spf=${result}` }
  return {
    domains: result === 'pass' ? [domain] : [],
    reason: `spf=${result} d=${domain}`,
    isOpen: result === 'temperror' && mayShareOwner(domain, from.domain),
  }
}

/** Could be of one owner: they end in the same two labels. */
const mayShareOwner = (one: string, other: string): boolean => lastTwoLabels(one) === lastTwoLabels(other)
const lastTwoLabels = (domain: string): string => domain.split('.').slice(-2).join('.')

export type AuthSettings = {
  /** Domains of relays whose ARC seals are believed. */
  readonly trustedSealers: readonly string[]
  /** Addresses of agents that may get mails which do not name them: behind an alias, or in Bcc. */
  readonly unnamedRecipients: readonly string[]
  readonly minRsaBits: number
  readonly deadlineMs: number
}

export const defaultAuthSettings: AuthSettings = {
  trustedSealers: [],
  unnamedRecipients: [],
  minRsaBits: 1024,
  deadlineMs: 10_000,
}
