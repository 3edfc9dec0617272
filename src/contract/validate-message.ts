// Validation of NormalizedMessage with a code for each problem: rejects, repairs with a warning, or passes.
import type * as z from 'zod'
import { isCanonicalAddress, isHostedAddress } from './address.ts'
import { type NormalizedMessage, normalizedMessageSchema } from './message.ts'
import { partParserFor } from './parts.ts'
import { isPlainMessage } from './plain-message.ts'
import { type RepairCode, repairMessage } from './repair-message.ts'

export type MessageCode =
  | 'NM_ID_MISSING'
  | 'NM_THREAD_MISSING'
  | 'NM_RECIPIENT_INVALID'
  | 'NM_SENDER_ADDRESS_INVALID'
  | 'NM_PARTS_EMPTY'
  | 'NM_PART_INVALID'
  | 'NM_TEXT_MIME'
  | 'NM_BYTESREF_INVALID'
  | 'NM_CAPABILITIES_MISSING'
  | 'NM_RELAY_INVALID'
  | 'NM_VIA_UNKNOWN'
  | 'NM_TIME_INVALID'
  | 'NM_AUTH_INCONSISTENT'
  | 'NM_CHAIN_INVALID'
  | 'NM_MALFORMED'
  | RepairCode

/** Where the message comes from decides how strict we are: adapters must be right, storage may be from the future. */
export type ValidationScope =
  | {
      readonly from: 'adapter'
      readonly receivedVia: ReadonlySet<string>
      readonly authMethods: ReadonlySet<string>
      readonly resolutionVerified?: boolean
    }
  | { readonly from: 'storage' }

export type MessageValidation =
  | { readonly ok: true; readonly message: NormalizedMessage; readonly warnings: readonly MessageCode[] }
  | { readonly ok: false; readonly code: MessageCode; readonly path: string }

export function validateMessage(input: unknown, scope: ValidationScope): MessageValidation {
  if (isPlainMessage(input)) return semanticFault(input, scope) ?? { ok: true, message: input, warnings: [] }
  const warnings: RepairCode[] = []
  const isResolutionTrusted = scope.from === 'storage' || scope.resolutionVerified === true
  const repaired = repairMessage(input, isResolutionTrusted, warnings)
  const parsed = normalizedMessageSchema.safeParse(repaired)
  if (!parsed.success) return toRejection(parsed.error, repaired)
  const fault = semanticFault(parsed.data, scope)
  if (fault !== undefined) return fault
  return { ok: true, message: parsed.data, warnings }
}

function semanticFault(message: NormalizedMessage, scope: ValidationScope): MessageValidation | undefined {
  const invalidMessage = (code: MessageCode, path: string): MessageValidation => ({ ok: false, code, path })
  if (!isHostedAddress(message.recipient)) return invalidMessage('NM_RECIPIENT_INVALID', 'recipient')
  if (!isCanonicalAddress(message.sender.address)) return invalidMessage('NM_SENDER_ADDRESS_INVALID', 'sender.address')
  const { auth_method, verified, identities = [] } = message.sender
  if (auth_method === 'none' && (verified || identities.length > 0))
    return invalidMessage('NM_AUTH_INCONSISTENT', 'sender')
  if (verified && identities.length === 0) return invalidMessage('NM_AUTH_INCONSISTENT', 'sender.identities')
  if (scope.from === 'storage') return undefined
  if (!scope.receivedVia.has(message.received_via)) return invalidMessage('NM_VIA_UNKNOWN', 'received_via')
  if (auth_method !== 'none' && !scope.authMethods.has(auth_method))
    return invalidMessage('NM_AUTH_INCONSISTENT', 'sender.auth_method')
  return undefined
}

function toRejection(error: z.ZodError, input: unknown): MessageValidation {
  const issue = error.issues[0]
  const path = issue?.path ?? []
  return { ok: false, code: messageCodeForPath(path.map(String), input), path: path.join('.') }
}

function messageCodeForPath(path: readonly string[], input: unknown): MessageCode {
  switch (path[0]) {
    case 'id':
      return 'NM_ID_MISSING'
    case 'thread_id':
      return 'NM_THREAD_MISSING'
    case 'recipient':
      return 'NM_RECIPIENT_INVALID'
    case 'received_via':
      return 'NM_VIA_UNKNOWN'
    case 'received_at':
      return 'NM_TIME_INVALID'
    case 'sender':
      return senderCode(path[1])
    case 'recipient_capabilities':
      return capabilitiesCode(path, input)
    case 'parts':
      return partCode(path, input)
    default:
      return 'NM_MALFORMED'
  }
}

function senderCode(field: string | undefined): MessageCode {
  if (field === undefined || field === 'address') return 'NM_SENDER_ADDRESS_INVALID'
  return ['auth_method', 'verified', 'identities'].includes(field) ? 'NM_AUTH_INCONSISTENT' : 'NM_MALFORMED'
}

function capabilitiesCode(path: readonly string[], input: unknown): MessageCode {
  if (path[1] === 'agent_chain') return 'NM_CHAIN_INVALID'
  if (path[1] === 'rendering') return 'NM_MALFORMED'
  const relay = property(property(input, 'recipient_capabilities'), 'mention_relay')
  return relay === undefined || relay === null ? 'NM_CAPABILITIES_MISSING' : 'NM_RELAY_INVALID'
}

function partCode(path: readonly string[], input: unknown): MessageCode {
  const parts = property(input, 'parts')
  if (Array.isArray(parts) && parts.length === 0) return 'NM_PARTS_EMPTY'
  const part = Array.isArray(parts) ? parts[Number(path[1])] : undefined
  const issue = partParserFor(property(part, 'kind')).safeParse(part).error?.issues[0]
  const field = issue?.path[0]
  if (field === 'mime' && property(part, 'kind') === 'text') return 'NM_TEXT_MIME'
  return field === 'bytes_ref' ? 'NM_BYTESREF_INVALID' : 'NM_PART_INVALID'
}

function property(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
}
