// The address of a request, before anything looks something up by it: what could not be an id is the caller's mistake, and is told so.
import type { Context, Next } from 'hono'
import { GatewayError, isPlainId, plainIdRemedy } from '../contract/index.ts'

/** Longer than any address of ours; names in a path and values in a query are looked up as they are. */
const maxAddressLength = 8192

export async function requirePlainAddress(context: Context, next: Next): Promise<void> {
  const { url } = context.req
  if (url.length > maxAddressLength)
    throw new GatewayError('bad_request', `the address has more than ${maxAddressLength} characters`)
  // Most addresses have nothing to decode.
  if (url.includes('%') || !isPlainId(url)) {
    const { pathname, searchParams } = new URL(url)
    const values = [decodePath(pathname), ...[...searchParams].flat()]
    if (!values.every((value) => value !== undefined && isPlainId(value)))
      throw new GatewayError('bad_request', `the address holds characters that no id has; ${plainIdRemedy}`)
  }
  await next()
}

/** Undefined: percent signs that encode nothing. */
function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}
