// The sender of an activity: the actor by its address, shown by the handle its server gives it. Pure.
import {
  cleanName,
  formatAddress,
  mintEvidence,
  parseAddress,
  type SenderProfile,
  type VerifiedSender,
  verifiedSender,
} from '../../../src/contract/index.ts'
import { iriHost } from '../signatures/host-authority.ts'
import type { RemoteActor } from '../wire/activity.ts'
import { type ActivityContext, agentHandle } from './activity-context.ts'

/** The name of the method, as evidence carries it. */
const methods = {
  'ap-http-signature': 'urn:gw:auth:ap-http-signature:v0.1',
  'ap-object-integrity-proof': 'urn:gw:auth:ap-object-integrity-proof:v0.1',
  'ap-origin-fetch': 'urn:gw:auth:ap-origin-fetch:v0.1',
} as const

export function actorSender(scene: ActivityContext, agent: string): VerifiedSender {
  const { signer, method, keyId, community } = scene.gated
  const key = keyId === undefined ? {} : { keyId }
  const evidence = mintEvidence({
    subject: signer.id,
    // A server vouches for the people on it, and for no others.
    issuer: new URL(signer.id).host,
    method: methods[method],
    assurance: 'domain',
    recipient: agentHandle(scene, agent),
    issuedAt: scene.arrival.receivedAt,
    ...key,
    claims: {
      actor_type: signer.type,
      ...(signer.isHandleConfirmed ? { acct: acctUri(signer) } : {}),
      ...(community === undefined ? {} : { passed_on_by: community }),
    },
  })
  const name = cleanName(signer.name)
  return verifiedSender([evidence], {
    address: actorAddress(signer, scene.connection.domain),
    ...(name === '' ? {} : { display_name: name }),
    profile: actorProfile(signer, name),
    auth_method: method,
    ...(keyId === undefined ? {} : { key_id: keyId }),
  })
}

function actorProfile(signer: RemoteActor, name: string): SenderProfile {
  return {
    ...(name === '' ? {} : { display_name: name }),
    username: cleanName(signer.preferredUsername),
    url: signer.url ?? signer.id,
    // Named and never fetched.
    ...(signer.iconUrl === undefined ? {} : { avatar: { url: signer.iconUrl } }),
    provider: 'activitypub',
    provider_subject: signer.id,
    fetched_at: signer.fetchedAt,
    // Below the name of the protocol, so that no two sources write one key.
    extensions: {
      activitypub: { actor_type: signer.type, handle: signer.handle, handle_confirmed: signer.isHandleConfirmed },
    },
  }
}

/** Where a link with their name leads: their page, if it is on the server that vouches for them. */
export function actorPage({ id, url }: RemoteActor): string {
  return url !== undefined && iriHost(url) !== undefined && iriHost(url) === iriHost(id) ? url : id
}

/** Their handle where it can stand as an address; a server without a name of its own gets one of ours. */
export function actorAddress(signer: Pick<RemoteActor, 'handle' | 'preferredUsername'>, domain: string): string {
  const parsed = parseAddress(signer.handle)
  if (parsed !== undefined) return formatAddress(parsed)
  const plain = signer.preferredUsername.replace(/[^A-Za-z0-9_-]/g, '').slice(0, 64)
  return formatAddress({ local: plain === '' ? 'actor' : plain, domain: `activitypub.${domain}` })
}

function acctUri({ handle }: RemoteActor): string {
  return `acct:${handle.replace(/^@/, '')}`
}
