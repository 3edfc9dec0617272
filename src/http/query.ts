// What every list reads from its query.
import { GatewayError } from '../contract/index.ts'

export const pageSize = 50
export const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function wholeNumber(name: string, text: string, max: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= 1 && value <= max) return value
  throw new GatewayError('bad_request', `${name} must be a whole number from 1 to ${max}`)
}
