// The trace a message belongs to: the sender's, where it says so in W3C Trace Context, else one of our own.
import type { GatewayDeps } from './deps.ts'

const version00 = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/
/** Later versions may append fields; ff is forbidden (Trace Context §2.2.4, §3.2.2). */
const laterVersion = /^(?!00|ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/

/** Undefined for a header that is missing or not valid. */
export function parseTraceparent(traceparent: string | undefined): string | undefined {
  if (traceparent === undefined || traceparent.length > 256) return undefined
  const [, trace = '', parent = ''] = version00.exec(traceparent) ?? laterVersion.exec(traceparent) ?? []
  return /[1-9a-f]/.test(trace) && /[1-9a-f]/.test(parent) ? trace : undefined
}

export function newTraceId({ newId }: Pick<GatewayDeps, 'newId'>): string {
  return newId().replaceAll('-', '')
}
