// Bearer tokens of push notifications, for receivers that gave no credentials of their own: a JWT signed with our key, made out to the
// receiver, over the very bytes that are sent, and good for this one try.
import { sha256Hex } from '../../../src/lib/index.ts'
import type { OwnKey } from '../discovery/own-key.ts'

export type PushTokenDeps = {
  readonly key: OwnKey
  /** Where the agents of this connection are served. */
  readonly base: string
  /** Where the key can be read. */
  readonly keysUrl: string
  readonly newId: () => string
  readonly now: () => number
}

export type Notification = {
  readonly url: string
  readonly taskId: string
  readonly agent: string
  readonly body: string
}

const lifeSeconds = 300

/** Undefined: nothing is signed here. */
export async function signPushToken(deps: PushTokenDeps, notification: Notification): Promise<string | undefined> {
  const key = await deps.key()
  if (key === undefined) return undefined
  const { url, taskId, agent, body } = notification
  const iat = Math.floor(deps.now() / 1000)
  const claims = {
    iss: `${deps.base}/${agent}`,
    aud: new URL(url).origin,
    sub: taskId,
    iat,
    exp: iat + lifeSeconds,
    // A new id per try: a receiver that failed after it had stored the id still takes the next one.
    jti: deps.newId(),
    request_body_sha256: await sha256Hex(body),
  }
  return key.token(claims, deps.keysUrl)
}
