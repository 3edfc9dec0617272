// Base64 and base58 to bytes, in their one strict form each.

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const base58Letters = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

export function decodeStrictBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!base64Pattern.test(text)) return undefined
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index)
  return bytes
}

/** Of a known length only: the work grows with the square of it. */
export function decodeBase58(text: string, length: number): Uint8Array<ArrayBuffer> | undefined {
  if (text.length > length * 1.4 + 1) return undefined
  const bytes = new Uint8Array(length)
  for (const letter of text) {
    let carry = base58Letters.indexOf(letter)
    if (carry < 0) return undefined
    for (let index = length - 1; index >= 0; index -= 1) {
      carry += (bytes[index] ?? 0) * 58
      bytes[index] = carry & 0xff
      carry >>= 8
    }
    if (carry > 0) return undefined
  }
  return bytes
}
