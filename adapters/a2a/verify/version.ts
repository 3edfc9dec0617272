// Which version of the protocol a request speaks: by header, else by query; nothing said means 0.3.
import { createFault, type Fault } from '../wire/faults.ts'
import type { Dialect } from '../wire/operations.ts'

const versionName = 'A2A-Version'

export function readVersion(request: Request, supported: readonly Dialect[]): Dialect | Fault {
  const header = request.headers.get(versionName)
  const asked = (header ?? new URL(request.url).searchParams.get(versionName) ?? '').trim()
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})(?:\.\d{1,3})?$/.exec(asked === '' ? '0.3' : asked) ?? []
  const found = supported.find((version) => version === `${major}.${minor}`)
  if (found !== undefined) return found
  const said = asked === '' ? `no ${versionName}, which means 0.3` : `${versionName} ${asked.slice(0, 16)}`
  const message = `${said}, is not supported here; send ${versionName} with one of: ${supported.join(', ')}`
  return createFault('version_not_supported', message, { metadata: { supportedVersions: supported.join(', ') } })
}
