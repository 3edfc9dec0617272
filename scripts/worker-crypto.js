// node:crypto for what is bundled for Workers: workerd does not know the names that OpenSSL has for signatures, and mailauth asks
// for them. Without this every RSA signature of a mail would count as unreadable there.
import crypto, { sign as signAs, verify as verifyAs } from 'node:crypto'

export * from 'node:crypto'

const digests = { 'rsa-sha256': 'sha256', 'rsa-sha1': 'sha1' }
const digestOf = (algorithm) => digests[algorithm?.toLowerCase()] ?? algorithm

export const verify = (algorithm, ...rest) => verifyAs(digestOf(algorithm), ...rest)
export const sign = (algorithm, ...rest) => signAs(digestOf(algorithm), ...rest)

// biome-ignore lint/style/noDefaultExport: as the module that it stands for
export default { ...crypto, verify, sign }
