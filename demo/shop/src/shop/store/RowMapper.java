package shop.store;

import java.sql.ResultSet;
import java.sql.SQLException;

/** Makes one object of the row a result stands at. */
@FunctionalInterface
public interface RowMapper<T> {
    T map(ResultSet row) throws SQLException;
}
