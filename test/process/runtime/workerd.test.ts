// Says by name that the suites in workerd did not run, where they could not.
import { test } from 'vitest'
import { workerdProblem } from '../../runtime/workerd-problem.ts'

const problem = workerdProblem()

test.skipIf(problem !== undefined)(
  `workerd runs the suites in test/runtime/workerd${problem === undefined ? '' : ` (${problem})`}`,
  () => {},
)
