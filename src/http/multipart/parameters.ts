// `; name=value` pairs of a header (RFC 9110 §5.6.6), strictly: whatever does not fit makes the whole header unreadable.

const parameterPattern =
  /\s*;\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\\r\n]|\\[^\r\n])*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]+))/y

export type ValueAndParameters = { readonly value: string; readonly parameters: ReadonlyMap<string, string> }

/** Undefined: cannot be read, or names a parameter twice, which readers resolve differently. */
export function readParameters(header: string): ValueAndParameters | undefined {
  const end = header.indexOf(';')
  const value = (end === -1 ? header : header.slice(0, end)).trim().toLowerCase()
  const parameters = new Map<string, string>()
  parameterPattern.lastIndex = end === -1 ? header.length : end
  while (parameterPattern.lastIndex < header.length) {
    const from = parameterPattern.lastIndex
    const found = parameterPattern.exec(header)
    if (found === null) return /^[\s;]*$/.test(header.slice(from)) ? { value, parameters } : undefined
    const [, name = '', quoted, token = ''] = found
    const key = name.toLowerCase()
    if (parameters.has(key)) return undefined
    // Only what would end the string is escaped: a backslash in an old path stays one.
    parameters.set(key, quoted === undefined ? token : quoted.replace(/\\(["\\])/g, '$1'))
  }
  return { value, parameters }
}

const boundaryPattern = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/

/** Of `multipart/form-data` (RFC 2046 §5.1.1); undefined for every other type. */
export function formBoundary(contentType: string | undefined): string | undefined {
  const { value, parameters } = readParameters(contentType ?? '') ?? {}
  const boundary = parameters?.get('boundary') ?? ''
  return value === 'multipart/form-data' && boundaryPattern.test(boundary) ? boundary : undefined
}
