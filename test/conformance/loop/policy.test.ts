import { conform } from '../conform.ts'
import { policyCases } from './policy-cases.ts'

conform('policies', policyCases)
