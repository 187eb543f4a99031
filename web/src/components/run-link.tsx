import { Link } from '@tanstack/react-router';

/** A run of a list: the name of its workflow, and its id, which leads to it. */
export const RunLink = ({ id, workflowName }: { id: string; workflowName: string }) => (
  <>
    <span className="block">{workflowName}</span>
    <Link to="/runs/$runId" params={{ runId: id }} className="font-mono text-xs wrap-break-word md:whitespace-nowrap">
      {id}
    </Link>
  </>
);
