/// <reference path="./dkim-verifier.d.ts" />
// The parts of mailauth that are used, in one piece; library.ts loads it when the first mail is proven. Its root would bring BIMI
// and an HTTP client along.
export { arc } from 'mailauth/lib/arc/index.js'
export { DkimVerifier } from 'mailauth/lib/dkim/dkim-verifier.js'
export { evaluateDmarc } from 'mailauth/lib/dmarc/index.js'
export { spf } from 'mailauth/lib/spf/index.js'
