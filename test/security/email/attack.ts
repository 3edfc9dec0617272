// What an attack on the author of a mail is made of: alice@sender.example is the victim, evil.example belongs to the attacker, with
// keys and records of its own.

import type { Proving } from '../../doubles/authenticated-mail.ts'
import { draftMail, mailKey, mailZone, type Signing, senderZone, signMail } from '../../doubles/signed-mails.ts'

export type Attack = {
  /** Completes the sentence: the victim is not believed when … */
  readonly name: string
  readonly mail: () => string | Promise<string>
  readonly proving?: () => Proving
  /** Part of what `explain` says of it. */
  readonly reason: string
  /** Whom it is proven to be from after all; nobody without it. */
  readonly by?: string
}

export const evilKey = mailKey('rsa-2048', 'evil')

/** Both domains; the victim's policy is p=reject unless it is given. */
export const bothZones = (policy: string | undefined = 'p=reject') =>
  senderZone(senderZone(mailZone(), { policy }), { domain: 'evil.example', key: evilKey, policy: 'p=none' })

export const evilSigned = (mail: string, more: Signing = {}): Promise<string> =>
  signMail(mail, { domain: 'evil.example', key: evilKey, ...more })

/** The attacker's own mail with this From, signed by the attacker. */
export const fromField = (value: string, reason: string, by?: string): Attack => ({
  name: `From is ${JSON.stringify(value).slice(0, 100)}`,
  mail: () => evilSigned(draftMail({ from: value })),
  reason,
  ...(by === undefined ? {} : { by }),
})

/** Genuine, of the victim, to the agent. */
export const genuine = (signing: Signing = {}): Promise<string> => signMail(draftMail(), signing)

/** The victim's genuine mail, changed on its way. */
export const changed = (
  name: string,
  change: (mail: string) => string,
  reason: string,
  signing: Signing = {},
): Attack => ({
  name,
  mail: async () => change(await genuine(signing)),
  reason,
})

export const onTop = (lines: string) => (mail: string) => `${lines}\r\n${mail}`
